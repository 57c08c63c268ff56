import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

// What real senders sent, as it was recorded, with what docs/posting-messages.md says becomes of it.

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel);
});
afterAll(() => stage[Symbol.asyncDispose]());

const firing = {
  status: "firing",
  labels: { alertname: "Disk" },
  annotations: { summary: "91 % full" },
  startsAt: "2026-11-21T22:34:40.698Z",
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "",
  fingerprint: "4b3cdc53b8c5e21e",
};
const notification = {
  receiver: "webhook",
  status: "firing",
  alerts: [firing],
  groupLabels: { alertname: "Disk" },
  commonLabels: { alertname: "Disk" },
  commonAnnotations: { summary: "91 % full" },
  externalURL: "http://localhost:9093",
  groupKey: '{}/{r="webhook"}:{alertname="Disk"}',
  truncatedAlerts: 0,
};
const attachment = {
  title: "[FIRING:1] Disk (slack)",
  title_link: "http://localhost:9093/#/alerts?receiver=slack",
  text: "Disk 91 % full",
  fallback: "[FIRING:1] Disk (slack)",
  color: "danger",
  mrkdwn_in: ["fallback", "pretext", "text"],
};

test.each([
  [
    "Alertmanager 0.34.2 with a payload",
    { text: "*FIRING* Disk\n91 % full\n", username: "Alertmanager" },
    { body: "*FIRING* Disk\n91 % full", username: "Alertmanager" },
  ],
  [
    "Alertmanager 0.28.1 with msteams_configs",
    {
      "@context": "http://schema.org/extensions",
      type: "MessageCard",
      title: "[FIRING:1] Disk (msteams)",
      summary: "[FIRING:1] Disk (msteams)",
      text: "*FIRING* Disk",
      themeColor: "8C1A1A",
    },
    { body: "*FIRING* Disk", username: null },
  ],
  [
    "Grafana's contact point Webhook with a custom payload",
    {
      text: "**Firing**\n\nValue: [no value]\nLabels:\n - alertname = Disk\nAnnotations:\n",
      username: "Grafana",
    },
    {
      body: "**Firing**\n\nValue: [no value]\nLabels:\n - alertname = Disk\nAnnotations:",
      username: "Grafana",
    },
  ],
  [
    "slack-go",
    { username: "Go", text: "from slack-go", replace_original: false, delete_original: false },
    { body: "from slack-go", username: "Go" },
  ],
])("%s posts", async (_, sent, message) => {
  expect((await stage.send(hook.token, sent)).status).toBe(202);
  expect((await stage.messages(channel))[0]).toMatchObject(message);
});

const push = { ref: "refs/heads/main", before: "0".repeat(40), after: "1".repeat(40), commits: [] };

test.each<[string, string, object | string]>([
  ["Alertmanager's webhook_configs without a payload", "application/json", { ...notification, version: "4" }],
  [
    "Alertmanager's slack_configs",
    "application/json",
    { channel: "x", username: "Alertmanager", attachments: [attachment] },
  ],
  [
    "Grafana's contact point Webhook without a custom payload",
    "application/json",
    {
      ...notification,
      version: "1",
      orgId: 1,
      title: "[FIRING:1] Disk",
      state: "alerting",
      message: "**Firing**",
    },
  ],
  [
    "Grafana's contact point Slack",
    "application/json; charset=utf-8",
    { username: "Grafana", attachments: [attachment] },
  ],
  ["a webhook of GitHub", "application/json", push],
  [
    "a webhook of GitHub as a form",
    "application/x-www-form-urlencoded",
    new URLSearchParams({ payload: JSON.stringify(push) }).toString(),
  ],
])("%s is told that its post has no text", async (_, type, sent) => {
  const before = await stage.messages(channel);
  const { status, json } = await stage.send(hook.token, sent, { "content-type": type });
  expect({ status, errors: json.errors }).toEqual({
    status: 422,
    errors: { text: ["The text field is required."] },
  });
  expect(await stage.messages(channel)).toEqual(before);
});
