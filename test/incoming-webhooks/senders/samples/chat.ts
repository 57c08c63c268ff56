const url = "https://example.com/1";
const mrkdwn = {
  type: "mrkdwn",
  text: `*bold* <${url}|label> <@U1|mona> <!here> <!date^1^{date}|then> &lt;`,
};
const plain = { type: "plain_text", text: "plain &amp; simple" };

const richText = {
  type: "rich_text",
  elements: [
    {
      type: "rich_text_section",
      elements: [
        { type: "text", text: "a" },
        { type: "link", url, text: "b" },
      ],
    },
    {
      type: "rich_text_list",
      style: "ordered",
      indent: 1,
      offset: 2,
      elements: [{ type: "rich_text_section", elements: [{ type: "date", timestamp: 1, fallback: "then" }] }],
    },
    { type: "rich_text_quote", elements: [{ type: "user", user_id: "U1" }] },
  ],
};

const alert = {
  status: "firing",
  labels: { alertname: "Disk", instance: "db1", severity: "page" },
  annotations: { summary: "91 % full", description: "soon", runbook_url: url },
  startsAt: "2026-11-23T07:00:00Z",
  generatorURL: url,
  values: { A: 91.25 },
};

const group = {
  version: "4",
  groupKey: "{}:{}",
  status: "firing",
  receiver: "parley",
  groupLabels: { alertname: "Disk" },
  commonLabels: { alertname: "Disk" },
  commonAnnotations: { summary: "91 % full" },
  externalURL: "http://alertmanager:9093",
  truncatedAlerts: 2,
  alerts: [alert, { ...alert, status: "resolved" }, { ...alert, labels: { alertname: "CPU" } }],
};

/** A post with most of what each form can have, by the end of its address. */
export const chatSamples: Record<string, unknown> = {
  slack: {
    text: mrkdwn.text,
    username: "CI",
    icon_url: url,
    blocks: [
      { type: "header", text: plain },
      {
        type: "section",
        text: mrkdwn,
        fields: [mrkdwn, plain],
        accessory: { type: "button", text: plain, url },
      },
      { type: "divider" },
      { type: "context", elements: [{ type: "image", image_url: url, alt_text: "cat" }, mrkdwn] },
      { type: "actions", elements: [{ type: "button", text: plain, url }] },
      { type: "table", rows: [[{ type: "raw_text", text: "a" }, richText]] },
      richText,
    ],
    attachments: [
      {
        pretext: "before",
        author_name: "mona",
        title: "title",
        title_link: url,
        text: mrkdwn.text,
        fields: [{ title: "a", value: "b" }],
        actions: [{ type: "button", text: "Open", url }],
        footer: "CI",
        fallback: "fallback",
      },
      { blocks: [{ type: "section", text: mrkdwn }] },
    ],
  },
  discord: {
    content: "hello",
    username: "CI",
    avatar_url: url,
    embeds: [
      {
        title: "title",
        url,
        description: "description",
        author: { name: "mona" },
        fields: [{ name: "a", value: "b" }],
        image: { url },
        footer: { text: "CI" },
      },
    ],
    components: [{ type: 1, components: [{ type: 2, label: "Open", url }] }],
    poll: { question: { text: "Tea?" } },
  },
  alertmanager: group,
  grafana: { ...group, orgId: 1, title: "[FIRING:2] Disk", state: "alerting", message: "" },
  "uptime-kuma": {
    heartbeat: {
      status: 0,
      msg: "timeout",
      localDateTime: "2026-11-23 08:00:00",
      timezone: "UTC",
      time: "x",
    },
    monitor: { name: "Site", url, hostname: "example.com", port: 443 },
    msg: "[Site] [Down] timeout",
  },
};
