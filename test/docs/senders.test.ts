import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import published from "@octokit/webhooks-examples";
import { messageIn } from "../../src/incoming-webhooks/senders/read-post.ts";
import { getSender, senders } from "../../src/incoming-webhooks/senders/senders.ts";
import { labelledBlocks } from "../support/documents.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";

const text = readFileSync(join(import.meta.dir, "..", "..", "docs", "senders.md"), "utf8");
const blocks = labelledBlocks("docs/senders.md");
const samplesOf = (file: string) =>
  JSON.parse(
    readFileSync(
      join(import.meta.dir, "..", "incoming-webhooks", "senders", "samples", "monitors", `${file}.json`),
      "utf8",
    ),
  ) as object;

/** GitHub's published sample of the event, with some of its fields changed. */
const ofGithub = (event: string, changes: object = {}) => ({
  suffix: "github",
  headers: { "x-github-event": event },
  payload: { ...published.find(({ name }) => name === event)?.examples[0], ...changes },
});

const repository = { full_name: "ops/parley" };
const firing = (instance: string, summary: string, status = "firing") => ({
  status,
  labels: { alertname: "Disk", instance, severity: "page" },
  annotations: { summary },
  generatorURL: "http://prometheus.example.com/graph?g0.expr=x",
});
const group = (alerts: object[], more: object) => ({
  suffix: "alertmanager",
  payload: {
    version: "4",
    groupKey: "{}",
    receiver: "parley",
    status: "firing",
    alerts,
    groupLabels: { alertname: "Disk" },
    commonLabels: { alertname: "Disk", severity: "page" },
    commonAnnotations: {},
    externalURL: "http://alertmanager.example.com",
    ...more,
  },
});

/** What is posted for each message of the document. */
const posts: Record<string, { suffix: string; payload: object; headers?: Record<string, string> }> = {
  slack: {
    suffix: "slack",
    payload: {
      blocks: [
        { type: "section", text: { type: "mrkdwn", text: "*web* is in <https://example.com|production>" } },
      ],
      attachments: [{ title: "Build 7", text: "120 tests passed" }],
    },
  },
  discord: {
    suffix: "discord",
    payload: {
      content: "hello",
      embeds: [{ title: "Build 7", url: "https://example.com/7", description: "passed" }],
    },
  },
  github_pull_request: ofGithub("pull_request", { action: "opened" }),
  github_push: ofGithub("push", {
    ref: "refs/heads/main",
    before: "5".repeat(40),
    after: "8".repeat(40),
    created: false,
    deleted: false,
    compare: "https://github.com/Codertocat/Hello-World/compare/51c09de...8f21ab3",
    commits: [
      { id: "8f21ab34c1", message: "Read the settings once", author: { name: "Mona" } },
      { id: "51c09de2aa", message: "Say which setting is wrong", author: { name: "Hubot" } },
    ],
  }),
  github_workflow_run: ofGithub("workflow_run", {
    workflow_run: {
      name: "CI",
      run_number: 7,
      conclusion: "failure",
      head_branch: "main",
      html_url: "https://github.com/Codertocat/Hello-World/actions/runs/7",
    },
  }),
  gitea: {
    suffix: "gitea",
    headers: { "x-gitea-event": "issue_comment" },
    payload: {
      action: "created",
      repository,
      sender: { login: "ann" },
      issue: { number: 12, title: "Backups are late" },
      comment: {
        body: "They wait for the disk.",
        html_url: "https://git.example.com/ops/parley/issues/12#issuecomment-40",
      },
    },
  },
  gitlab: {
    suffix: "gitlab",
    payload: {
      object_kind: "merge_request",
      user: { name: "Ann" },
      project: { path_with_namespace: "ops/parley" },
      object_attributes: {
        action: "merge",
        iid: 7,
        title: "Rotate the key at night",
        url: "https://gitlab.example.com/ops/parley/-/merge_requests/7",
      },
    },
  },
  alertmanager: group(
    [
      {
        ...firing("db1", ""),
        annotations: { summary: "91 % full", description: "The disk will be full within the hour." },
      },
    ],
    { commonLabels: { alertname: "Disk", severity: "page", instance: "db1" } },
  ),
  alertmanager_group: group(
    [
      firing("db1", "db1 is 91 % full", "resolved"),
      firing("db2", "db2 is 91 % full"),
      firing("db3", "db3 is 94 % full"),
    ],
    { commonAnnotations: { runbook_url: "https://example.com/disk" } },
  ),
  grafana: { suffix: "grafana", payload: samplesOf("grafana") },
  sentry: {
    suffix: "sentry",
    headers: { "sentry-hook-resource": "event_alert" },
    payload: {
      action: "triggered",
      data: {
        event: {
          title: "ReferenceError: heck is not defined",
          level: "error",
          culprit: "?(<anonymous>)",
          web_url: "https://sentry.io/organizations/test-org/issues/1117540176/",
        },
        triggered_rule: "Very Important Alert Rule!",
      },
    },
  },
  uptime_kuma: {
    suffix: "uptime-kuma",
    payload: {
      heartbeat: {
        status: 0,
        msg: "timeout of 48000ms exceeded",
        localDateTime: "2026-11-23 08:00:00",
        timezone: "Europe/Berlin",
      },
      monitor: { name: "Site", url: "https://example.com" },
      msg: "down",
    },
  },
};

test("the document has a recipe for each sender, with its address", () => {
  for (const { suffix, name } of senders) {
    const link = new RegExp(`^\\| \\[\`/${suffix}\`\\]\\(#`, "m");
    expect(text, name).toMatch(link);
  }
});

describe("the document shows a message as it looks afterwards:", () => {
  test.each(blocks.filter(({ language }) => language === "text").map(({ label, code }) => [label, code]))(
    "%s",
    (label, code) => {
      const post = posts[label];
      if (!post) throw new Error(`There is no post for ${label}.`);
      const { suffix, payload, headers } = post;
      expect(messageIn(getSender(suffix), payload, new Headers(headers)).text).toBe(code.trimEnd());
    },
  );
});

test("the documented lines of a shell post the body as it is, and Slack's library posts blocks", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const { token } = await stage.incoming(channel);
  const address = `${stage.server.url}/webhooks/incoming/${token}`;
  const run = async (command: string[]) => {
    const env = { PATH: process.env.PATH ?? "", WEBHOOK_URL: address };
    const child = Bun.spawn(command, { env, stdout: "ignore", stderr: "ignore" });
    expect(await child.exited).toBe(0);
    return (await stage.messages(channel))[0]?.body;
  };
  const [done, disk] = blocks.filter(({ label }) => label === "text").map(({ code }) => code);
  expect(await run(["sh", "-c", done ?? ""])).toBe("The backup is done.");
  expect(await run(["sh", "-c", disk ?? ""])).toMatch(/^\d{4}-\d\d-\d\d disk: \d+% full$/);
  const code = blocks.find(({ language, label }) => language === "ts" && label === "slack")?.code ?? "";
  const program = `import { IncomingWebhook } from "@slack/webhook"; const address = process.env.WEBHOOK_URL; ${code}`;
  const shown = blocks.find(({ language, label }) => language === "text" && label === "slack")?.code;
  expect(await run([process.execPath, "-e", program])).toBe(shown?.trimEnd() ?? "");
});
