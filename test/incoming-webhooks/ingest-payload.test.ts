import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { selectMessage } from "../../src/messages/store.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
beforeAll(async () => {
  stage = await startWebhookStage();
  channel = await stage.channel();
  hook = await stage.incoming(channel);
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Sends it, expects that it is taken, and returns the message that it made. */
async function posted(...[body, headers]: [body: Parameters<WebhookStage["send"]>[1], headers?: object]) {
  const answer = await stage.send(hook.token, body, headers);
  expect(answer.status, answer.text).toBe(202);
  expect(answer.text).toBe("");
  const [message] = await stage.messages(channel);
  return message;
}

/** Sends it, expects that it is refused, and returns the fields that are complained about. */
async function refusedFields(body: Parameters<WebhookStage["send"]>[1], headers?: object): Promise<string[]> {
  const before = await stage.messages(channel);
  const answer = await stage.send(hook.token, body, headers);
  expect(answer.status, answer.text).toBe(422);
  expect(await stage.messages(channel)).toEqual(before);
  return Object.keys(answer.json.errors ?? {}).sort();
}

describe("the message that an incoming webhook posts", () => {
  test("is its bot's, in its channel, under the bot's own identity", async () => {
    expect(await posted({ text: "Build 42 passed" })).toMatchObject({
      channel_id: channel.id,
      body: "Build 42 passed",
      type: "standard",
      author: { id: hook.bot.id, name: hook.bot.name, type: "bot" },
      reply_to_id: null,
      thread_root_id: null,
      sent_to_channel: false,
      username: null,
      icon_url: null,
    });
  });

  test("keeps a record of the webhook that the API does not show", async () => {
    const message = await posted({ text: "who was it?" });
    const row = await stage.database.ask((db) => selectMessage(db, channel.id, message?.id ?? ""));
    expect(row?.message.incomingWebhookId).toBe(hook.id);
    expect(JSON.stringify(message)).not.toContain(hook.id);
  });

  test("keeps its text as sent, except for surrounding white space", async () => {
    expect(await posted({ text: "\n  <!channel> *bold* &amp; <b>\r\n\tend \u3000" })).toMatchObject({
      body: "<!channel> *bold* &amp; <b>\r\n\tend",
    });
  });

  test("is posted again when it is sent again", async () => {
    const [one, two] = [await posted({ text: "again" }), await posted({ text: "again" })];
    expect(one?.id).not.toBe(two?.id);
  });
});

describe("of text and body", () => {
  test.each([
    [{ text: "from text" }, "from text"],
    [{ body: "from body" }, "from body"],
    [{ text: "from text", body: "from body" }, "from text"],
    [{ text: "", body: "from body" }, "from body"],
    [{ text: " \u00a0\n", body: "from body" }, "from body"],
    [{ text: null, body: "from body" }, "from body"],
    [{ text: "from text", body: null }, "from text"],
    [{ text: "from text", body: " " }, "from text"],
  ])("%j posts %p", async (payload, body) => {
    expect((await posted(payload))?.body).toBe(body);
  });

  test.each([
    ["neither", {}],
    ["empty ones", { text: "", body: "" }],
    ["only white space", { text: " \t\n\u2003" }],
    ["null", { text: null, body: null }],
    ["a number", { text: 42 }],
    ["a list", { text: ["x"] }],
    ["an object", { text: { toString: "x" } }],
    ["true", { text: true }],
    ["a number in place of an empty text", { text: "", body: 42 }],
    ["a NUL", { text: "a\u0000b" }],
    ["half of a surrogate pair", '{"text":"\\ud800"}'],
  ])("%s is refused", async (_, payload) => {
    const fields = await refusedFields(payload);
    expect(fields).toHaveLength(1);
    expect(["text", "body"]).toContain(fields[0] ?? "");
  });

  test.each(["text", "body"])("%s takes 8000 code points and not one more", async (field) => {
    expect((await posted({ [field]: "🙂".repeat(8000) }))?.body).toBe("🙂".repeat(8000));
    expect((await posted({ [field]: ` ${"x".repeat(8000)}\n` }))?.body).toBe("x".repeat(8000));
    expect(await refusedFields({ [field]: "🙂".repeat(8001) })).toEqual([field]);
    expect(await refusedFields({ [field]: "x".repeat(8001) })).toEqual([field]);
  });
});

describe("username and icon_url", () => {
  const icon = "https://example.com/icon.png";

  test.each([
    [{ username: "CI" }, { username: "CI", icon_url: null }],
    [{ icon_url: icon }, { username: null, icon_url: icon }],
    [{ icon_url: "HTTP://example.com/i.png" }, { username: null, icon_url: "HTTP://example.com/i.png" }],
    [
      { username: "Grüße 👋", icon_url: icon },
      { username: "Grüße 👋", icon_url: icon },
    ],
    [
      { username: "", icon_url: "" },
      { username: null, icon_url: null },
    ],
    [
      { username: " \t\u3000", icon_url: " \n" },
      { username: null, icon_url: null },
    ],
    [
      { username: null, icon_url: null },
      { username: null, icon_url: null },
    ],
    [
      { username: "", icon_url: icon },
      { username: null, icon_url: icon },
    ],
    [
      { username: "CI", icon_url: " " },
      { username: "CI", icon_url: null },
    ],
    [{ username: "🙂".repeat(255) }, { username: "🙂".repeat(255), icon_url: null }],
    [{ icon_url: icon.padEnd(2048, "x") }, { username: null, icon_url: icon.padEnd(2048, "x") }],
  ])("%j are shown as %j", async (fields, shown) => {
    expect(await posted({ text: "hello", ...fields })).toMatchObject(shown);
  });

  test.each([
    ["username", "x".repeat(256)],
    ["username", "🙂".repeat(256)],
    ["username", 42],
    ["username", ["CI"]],
    ["username", { name: "CI" }],
    ["username", false],
    ["username", "CI\nadmin"],
    ["username", "CI\u202enimda"],
    ["username", "CI\u0000"],
    ["icon_url", icon.padEnd(2049, "x")],
    ["icon_url", "//example.com/icon.png"],
    ["icon_url", "example.com/icon.png"],
    ["icon_url", "ftp://example.com/icon.png"],
    ["icon_url", "javascript:alert(1)"],
    ["icon_url", "data:image/png;base64,AAAA"],
    ["icon_url", "https:/example.com/icon.png"],
    ["icon_url", "x https://example.com/icon.png"],
    ["icon_url", "https://example.com/\nicon.png"],
    ["icon_url", 42],
    ["icon_url", [icon]],
    ["icon_url", { url: icon }],
  ])("a malformed %s is refused and posts nothing: %j", async (field, value) => {
    expect(await refusedFields({ text: "hello", [field]: value })).toEqual([field]);
  });

  test("are reported together, and along with the text", async () => {
    const wrong = { username: 1, icon_url: 2 };
    expect(await refusedFields({ text: "hello", ...wrong })).toEqual(["icon_url", "username"]);
    expect(await refusedFields({ text: 3, ...wrong })).toEqual(["icon_url", "text", "username"]);
    expect(await refusedFields(wrong)).toEqual(["icon_url", "text", "username"]);
  });

  test("are a snapshot: the bot's other messages and its name stay as they are", async () => {
    const named = await posted({ text: "named", username: "CI" });
    const plain = await posted({ text: "plain" });
    const messages = await stage.messages(channel);
    expect(messages.find(({ id }) => id === named?.id)?.username).toBe("CI");
    expect(plain).toMatchObject({ username: null, author: { name: hook.bot.name } });
  });

  test("the icon is never fetched", async () => {
    await using receiver = startReceiver();
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    await posted({ text: "look", icon_url: receiver.url });
    await listener.delivered();
    expect(receiver.requests).toEqual([]);
  });
});

test("the fields that are ignored are named in the response's header, of JSON and of a form", async () => {
  const body = { text: "hello", username: "CI", blocks: ["value"], icon_emoji: ":ghost:", "a\r\nb": 1 };
  const json = await stage.send(hook.token, body);
  const form = await stage.send(
    hook.token,
    new URLSearchParams({ payload: JSON.stringify(body) }).toString(),
    {
      "content-type": "application/x-www-form-urlencoded",
    },
  );
  for (const { status, headers, text } of [json, form])
    expect([status, headers.get("x-ignored-fields"), text]).toEqual([202, "blocks, icon_emoji, a__b", ""]);
  const plain = await stage.send(hook.token, { text: "hello", body: null, username: null, icon_url: null });
  expect([plain.status, plain.headers.get("x-ignored-fields")]).toEqual([202, null]);
});

test("Slack's fields, and any others, are ignored, whatever they contain", async () => {
  const message = await posted({
    text: "hello",
    icon_emoji: ":ghost:",
    channel: "#elsewhere",
    blocks: [{ type: "section", text: { type: "mrkdwn", text: "block" } }],
    attachments: [{ fallback: "attachment", color: "#f00" }],
    mrkdwn: false,
    thread_ts: 1,
    author_id: stage.team.owner.id,
    client_uuid: "not one",
    constructor: 1,
  });
  expect(message).toMatchObject({
    body: "hello",
    channel_id: channel.id,
    icon_url: null,
    thread_root_id: null,
  });
  expect(await refusedFields({ blocks: [{ type: "divider" }] })).toEqual(["text"]);
  expect(await refusedFields('{"__proto__":{"text":"inherited"}}')).toEqual(["text"]);
});
