import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { keys, onTerminal, run, runJson, runRefused, startServing } from "../support/cli.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel("private");
});
afterAll(async () => await stage[Symbol.asyncDispose]());

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, args);

test("a message is posted as a member of the channel, delivered and audited", async () => {
  const bot = await stage.bot(channel);
  await using listener = await stage.listen();
  const posted = await json<Message>("messages", "post", channel.slug, "Version 12 is out", "--as", bot.name);
  expect(posted).toMatchObject({ body: "Version 12 is out", author: { id: bot.id }, channel_id: channel.id });
  const [delivered] = await listener.delivered();
  expect(delivered?.data).toMatchObject({ id: posted.id });
  const [entry] = await json<AuditEntry[]>("audit", "list", "--action", "message.posted");
  expect(entry).toMatchObject({
    actor: expect.stringContaining("cli:"),
    target: `message:${posted.id}`,
    details: { channel: channel.name, as: bot.name },
  });
  expect(JSON.stringify(entry)).not.toContain("Version 12");
});

test("the text may come from a file or a pipe", async () => {
  const file = join(stage.dataDir, "text");
  await Bun.write(file, "from a file\nof two lines\n");
  const owner = stage.team.owner.name;
  const posted = await json<Message>("messages", "post", channel.id.slice(-8), "--as", owner, "--file", file);
  expect(posted.body).toBe("from a file\nof two lines");
  await using piping = startServing(
    stage.dataDir,
    ["messages", "post", channel.slug, "--as", owner, "--file", "-"],
    {},
    new Blob(["from a pipe"]),
  );
  await piping.firstLine();
  const [newest] = await json<Message[]>("messages", "list", channel.slug, "--limit", "1");
  expect(newest?.body).toBe("from a pipe");
  const missing = ["messages", "post", channel.slug, "--as", owner, "--file", join(stage.dataDir, "nothing")];
  expect((await runRefused(stage.dataDir, missing)).status).toBe(3);
});

test("who may not post there through the API may not here either", async () => {
  const outsider = await stage.bot();
  const args = ["messages", "post", channel.slug, "hello", "--as", outsider.name];
  expect(await runRefused(stage.dataDir, args)).toMatchObject({ status: 3 });
  const empty = ["messages", "post", channel.slug, "  ", "--as", stage.team.owner.name];
  expect((await runRefused(stage.dataDir, empty)).status).toBe(1);
  const both = ["messages", "post", channel.slug, "text", "--file", "-", "--as", stage.team.owner.name];
  expect((await runRefused(stage.dataDir, both)).status).toBe(2);
});

test("messages are listed newest first and shown by the end of an id", async () => {
  const own = await stage.channel();
  const first = await stage.post(own, "first");
  const second = await stage.post(own, "second");
  await stage.api.del(`/channels/${own.id}/messages/${first.id}`);
  const listed = await json<Message[]>("messages", "list", own.slug);
  expect(listed.map(({ id, body }) => [id, body])).toEqual([
    [second.id, "second"],
    [first.id, ""],
  ]);
  expect(await json("messages", "show", second.id.slice(-8))).toEqual(listed[0]);
  const { stdout } = await run(stage.dataDir, ["messages", "show", second.id]);
  expect(stdout).toContain(`#${own.name}`);
  expect((await run(stage.dataDir, ["messages", "list", own.slug])).stdout).toContain("(deleted)");
  await using screen = onTerminal(stage.dataDir, ["messages", "list", own.slug]);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain(second.id.slice(-8));
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
});

test("tail prints the latest messages and each new one once, until Ctrl-C", async () => {
  const own = await stage.channel();
  for (const body of ["one", "two", "three"]) await stage.post(own, body);
  await using screen = onTerminal(stage.dataDir, ["messages", "tail", own.slug, "--limit", "2"]);
  await screen.shows(": two");
  await screen.shows(": three");
  await stage.post(own, "four\u001b[2J");
  await screen.shows(": four\\u{1b}[2J");
  await stage.post(own, "five");
  await screen.shows(": five");
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).not.toContain(": one");
  expect(screen.text.split(": three")).toHaveLength(2);
  expect((await runRefused(stage.dataDir, ["messages", "tail", own.slug])).status).toBe(2);
});
