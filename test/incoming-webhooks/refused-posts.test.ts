import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import type { ChannelRow } from "../../src/channels/store.ts";
import { refusedPosts } from "../../src/database/schema.ts";
import type { RefusedPost } from "../../src/incoming-webhooks/refused-posts.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { readServedData } from "../support/data-folder.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attachments = [{ fallback: "the disk is full" }];
const inspect = (hook: Incoming) =>
  runJson<RefusedPost[]>(stage.dataDir, ["incoming-webhooks", "inspect", hook.id]);
const command = (verb: string, hook: Incoming, ...args: string[]) => [
  "incoming-webhooks",
  verb,
  hook.id,
  ...args,
];

describe("a refusal explains itself", () => {
  let hook: Incoming;
  beforeAll(async () => {
    hook = await stage.incoming(channel);
  });
  test.each<[string, object | string, string]>([
    [
      "with the fields that were found and the address that takes them",
      { channel: "#ops", attachments },
      'The text field is required. The body has "channel" and "attachments". It looks like a post of Slack-compatible senders: post it to …/slack.',
    ],
    [
      "with the first fields of many",
      Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`field ${n}`, n])),
      'The text field is required. The body has "field 0", "field 1", "field 2", "field 3", "field 4" and 2 more.',
    ],
    ["where there is no field", {}, "The text field is required. The body has no fields."],
    [
      "where the body is plain text",
      "The backup is done.",
      "The body is not valid JSON. Text that is not JSON can be posted to …/text.",
    ],
    ["with no more than the error where it says all", [], "The body must be a JSON object."],
  ])("%s", async (_, body, message) => {
    const { status, json } = await stage.send(hook.token, body);
    expect({ status, message: json.message }).toEqual({ status: 422, message });
  });
});

test("a refused post can be looked at, and posted after the repair", async () => {
  const closed = await stage.channel("private");
  const hook = await stage.incoming(closed);
  const member = (verb: string) =>
    runJson(stage.dataDir, ["channels", verb, closed.slug, hook.bot.id, "--yes"]);
  await member("remove-member");
  expect((await stage.send(hook.token, { text: "back again" }, { "user-agent": "cron" })).status).toBe(403);

  const [post, ...others] = await inspect(hook);
  expect(others).toEqual([]);
  expect(post).toMatchObject({ code: "forbidden", address: "", can_be_resent: true, size: 21 });
  const table = await run(stage.dataDir, command("inspect", hook));
  expect(table.stdout).toContain("The webhook's bot is not a member of the channel.");
  const shown = await run(stage.dataDir, command("inspect", hook, post?.id ?? ""));
  expect(shown.stdout).toMatch(/> user-agent +cron\n/);
  expect(shown.stdout).toContain("it would post: back again");

  const resend = command("resend", hook, post?.id ?? "");
  expect((await runRefused(stage.dataDir, resend)).message).toContain("not a member");
  await member("add-member");
  expect(await runJson<object>(stage.dataDir, resend)).toMatchObject({ body: "back again" });
  expect((await stage.messages(closed))[0]).toMatchObject({
    body: "back again",
    author: { id: hook.bot.id },
  });
});

test("a post in the form of another address is posted in that form, once", async () => {
  const hook = await stage.incoming(channel);
  expect((await stage.send(hook.token, { text: 1, attachments })).status).toBe(422);
  const [post] = await inspect(hook);
  const id = post?.id ?? "";
  const shown = await runJson(stage.dataDir, command("inspect", hook, id.slice(-12)));
  expect(shown).toMatchObject({
    body: JSON.stringify({ text: 1, attachments }),
    would_post: "1\nthe disk is full",
  });
  const posted = await runJson(stage.dataDir, command("resend", hook, id));
  expect(posted).toMatchObject({ body: "1\nthe disk is full", author: { type: "bot" } });
  expect((await stage.messages(channel))[0]).toMatchObject({ body: "1\nthe disk is full" });
  expect(await inspect(hook)).toEqual([]);
  expect((await runRefused(stage.dataDir, command("resend", hook, id))).message).toContain("no refused post");
});

test("a post that several resend at once is posted once", async () => {
  const hook = await stage.incoming(channel);
  await stage.send(hook.token, { text: 404, attachments });
  const [post] = await inspect(hook);
  const resend = () => run(stage.dataDir, command("resend", hook, post?.id ?? ""));
  const ran = await Promise.all([resend(), resend(), resend()]);
  expect(ran.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([0, 3, 3]);
  const bodies = (await stage.messages(channel)).map(({ body }) => body);
  expect(bodies.filter((body) => body.startsWith("404")).length).toBe(1);
});

test("of each webhook the last fifty are kept", async () => {
  const hook = await stage.incoming(channel);
  const other = await stage.incoming(channel);
  await stage.send(other.token, {});
  for (let n = 1; n <= 53; n++) await stage.send(hook.token, { n });
  const posts = await inspect(hook);
  expect(posts.length).toBe(50);
  const last = await runJson(stage.dataDir, command("inspect", hook, posts[49]?.id ?? ""));
  expect(last).toMatchObject({ body: '{"n":4}' });
  expect((await inspect(other)).length).toBe(1);
});

test("posts without a valid signature push no others out, and cannot be resent", async () => {
  const hook = await stage.incoming(channel, { signed: true });
  const body = "{}";
  const signature = createHmac("sha256", hook.secret ?? "")
    .update(body)
    .digest("hex");
  expect((await stage.send(hook.token, body, { "x-signature-256": signature })).status).toBe(422);
  for (let n = 1; n <= 60; n++) expect((await stage.send(hook.token, `"${n}"`)).status).toBe(401);
  const posts = await inspect(hook);
  expect(posts.length).toBe(11);
  expect(posts.filter(({ can_be_resent }) => can_be_resent).map(({ code }) => code)).toEqual(["invalid"]);
  const refused = await runRefused(stage.dataDir, command("resend", hook, posts[0]?.id ?? ""));
  expect(refused.message).toContain("Nobody has proven");
});

test("what is too long is kept in part", async () => {
  const hook = await stage.incoming(channel);
  await stage.send(hook.token, `{"text":1,"more":"${"x".repeat(70_000)}"}`);
  await stage.send(hook.token, "x".repeat(1_100_000));
  const [tooLarge, cut] = await inspect(hook);
  expect(tooLarge).toMatchObject({ code: "too_large", size: null, can_be_resent: false });
  expect(cut).toMatchObject({ code: "invalid", size: 70_020, can_be_resent: false });
  const { stdout } = await run(stage.dataDir, command("inspect", hook, cut?.id ?? ""));
  expect(stdout).toContain("(the first 66 kB of 70 kB)");
});

test("nothing of a refused post is stored in clear, and its credentials not at all", async () => {
  const canary = "c4n4ry-p0st";
  const hook = await stage.incoming(channel);
  const headers = {
    authorization: `Bearer ${canary}-token`,
    "x-gitlab-token": `${canary}-gitlab`,
    "x-a": canary,
  };
  await stage.send(hook.token, { [canary]: canary }, headers);
  for (const [place, content] of await readServedData(stage.dataDir))
    expect(content.includes(canary), place).toBe(false);
  const [post] = await inspect(hook);
  const shown = await runJson<{ headers: object }>(stage.dataDir, command("inspect", hook, post?.id ?? ""));
  expect(shown.headers).toMatchObject({ "x-a": canary });
  expect(JSON.stringify(shown.headers)).not.toContain(`${canary}-`);
});

test("revoking a webhook drops what it has refused", async () => {
  const hook = await stage.incoming(channel);
  await stage.send(hook.token, {});
  expect((await inspect(hook)).length).toBe(1);
  await runJson(stage.dataDir, command("revoke", hook, "--yes"));
  const left = await stage.database.ask((db) => db.select().from(refusedPosts));
  expect(left.filter(({ webhookId }) => webhookId === hook.id)).toEqual([]);
});

test("a post that was refused twice under one key and then posted is not posted again", async () => {
  const closed = await stage.channel("private");
  const hook = await stage.incoming(closed);
  const member = (verb: string) =>
    runJson(stage.dataDir, ["channels", verb, closed.slug, hook.bot.id, "--yes"]);
  const send = async () =>
    (await stage.send(hook.token, { text: "once" }, { "idempotency-key": "k9" })).status;
  await member("remove-member");
  expect([await send(), await send()]).toEqual([403, 403]);
  await member("add-member");
  expect(await send()).toBe(202);
  for (const { id } of await inspect(hook)) await runJson(stage.dataDir, command("resend", hook, id));
  const posted = (await stage.messages(closed)).filter(({ body }) => body === "once");
  expect(posted.length).toBe(1);
});

test("long credentials leave room for the headers that are kept", async () => {
  const hook = await stage.incoming(channel);
  const form = new URLSearchParams({ payload: "{}" }).toString();
  const type = "application/x-www-form-urlencoded";
  await stage.send(hook.token, form, { authorization: `Bearer ${"x".repeat(9_000)}`, "content-type": type });
  const [post] = await inspect(hook);
  const shown = await runJson<{ headers: object }>(stage.dataDir, command("inspect", hook, post?.id ?? ""));
  expect(shown.headers).toMatchObject({ "content-type": type });
});
