import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { IncomingWebhook } from "@slack/webhook";
import { AttachmentBuilder, DiscordAPIError, EmbedBuilder, WebhookClient } from "discord.js";
import type { ChannelRow } from "../../../src/channels/store.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";
import { buildMs, hasGo, slackGoProgram, slackSdkFolder } from "./programs.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

async function addressOf(suffix: string): Promise<string> {
  channel = await stage.channel();
  hook = await stage.incoming(channel);
  return `${stage.server.url}/webhooks/incoming/${hook.token}/${suffix}`;
}

/** The texts that were posted, oldest first. */
async function posted(): Promise<string[]> {
  return (await stage.messages(channel)).map(({ body }) => body).reverse();
}

async function run(command: string[], environment = {}): Promise<{ said: string; status: number }> {
  const env = { ...process.env, ...environment };
  const child = Bun.spawn(command, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, status] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { said: stdout + stderr, status };
}

test("Slack's library for Node posts in every way that it has", async () => {
  const address = await addressOf("slack");
  const client = new IncomingWebhook(address);
  const section = { type: "section" as const, text: { type: "mrkdwn" as const, text: "*blocks*" } };
  const attachments = [{ title: "attachment", text: "with text", fallback: "unseen" }];
  const calls = [
    () => client.send("a string"),
    () => client.send({ text: "a text" }),
    () => client.send({ blocks: [section] }),
    () => client.send({ attachments }),
    () => client.send({ text: "unseen", blocks: [section], attachments }),
    () => new IncomingWebhook(address, { username: "CI", icon_emoji: ":robot_face:" }).send("with a name"),
    () => client.send({ text: "not unfurled", unfurl_links: false, unfurl_media: false }),
    () =>
      new IncomingWebhook(address, { channel: "#other", link_names: true }).send({ text: "not threaded" }),
  ];
  for (const call of calls) expect(await call()).toEqual({ text: "ok" });
  expect(await posted()).toEqual([
    "a string",
    "a text",
    "*blocks*",
    "attachment\nwith text",
    "*blocks*\nattachment\nwith text",
    "with a name",
    "not unfurled",
    "not threaded",
  ]);
});

const fromLibrary = (language: string) => [
  `text from ${language}`,
  `attachment from ${language}\nwith text`,
  `blocks from ${language} (https://example.com)`,
];

test("Slack's library for Python posts text, attachments and blocks", async () => {
  const address = await addressOf("slack");
  const program = join(import.meta.dir, "slack_sdk_posts.py");
  const packages = { PYTHONPATH: await slackSdkFolder() };
  expect(await run(["python3", program, address], packages)).toEqual({
    said: "200 ok\n".repeat(3),
    status: 0,
  });
  expect(await posted()).toEqual(fromLibrary("Python"));
}, 120_000);

const testWithGo = hasGo ? test : () => {};

testWithGo(
  "slack-go posts text, attachments and blocks",
  async () => {
    const address = await addressOf("slack");
    expect(await run([await slackGoProgram(), address])).toEqual({ said: "", status: 0 });
    expect(await posted()).toEqual(fromLibrary("Go"));
  },
  buildMs,
);

test("discord.js posts, gets the message, and understands an error", async () => {
  const client = new WebhookClient({ id: "0", token: "0" }, { rest: { api: await addressOf("discord") } });
  const embed = new EmbedBuilder({ title: "Build 7", url: "https://example.com/7", description: "passed" });
  const message = await client.send({ content: "hello", username: "CI", embeds: [embed] });
  expect(message).toMatchObject({
    content: "hello\n\nBuild 7\npassed\nhttps://example.com/7",
    author: { username: "CI", bot: true },
  });
  const file = new AttachmentBuilder(Buffer.from("log"), { name: "log.txt" });
  await client.send({ content: "with a file", files: [file] });
  expect(await posted()).toEqual([message.content, "with a file"]);

  await stage.workspace.archive(channel);
  const error: unknown = await client.send("too late").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DiscordAPIError);
  expect(error).toMatchObject({ status: 403, code: 50013, message: expect.stringContaining("is archived") });
});
