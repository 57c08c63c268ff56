import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

type MessageData = { data: Message };

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  bot = await stage.as(stage.cast.bot);
  member = await stage.as(stage.cast.member);
  messages = `/channels/${stage.cast.open.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);

async function post(input: object, client = bot): Promise<Message> {
  const { status, json } = await client.post<MessageData>(messages, { body: "hello", ...input });
  expect(status).toBe(201);
  return json.data;
}

async function read(id: string): Promise<Message> {
  const { status, json } = await bot.get<MessageData>(`${messages}/${id}`);
  expect(status).toBe(200);
  return json.data;
}

describe("posting a message", () => {
  test("answers with every field of it, and reading it gives the same", async () => {
    const before = Date.now();
    const message = await post({ body: "  Hello, world\n" });
    expect(message).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      channel_id: stage.cast.open.id,
      body: "Hello, world",
      type: "standard",
      author: { id: stage.cast.bot.id, name: "Build Bot", type: "bot" },
      reply_to_id: null,
      thread_root_id: null,
      reactions: [],
      created_at: timestamp,
      edited_at: null,
      username: null,
      icon_url: null,
      sent_to_channel: false,
    });
    expect(Date.parse(message.created_at ?? "")).toBeWithin(before, Date.now() + 1);
    expect(await read(message.id)).toEqual(message);
  });

  test("is done in the name of the person whose token it is", async () => {
    const message = await post({}, member);
    expect(message.author).toEqual({ id: stage.cast.member.id, name: "Max Member", type: "human" });
  });

  test("takes no author, type, name or icon from the request", async () => {
    const message = await post({
      author: { id: stage.cast.member.id },
      type: "member_joined",
      username: "Somebody else",
      icon_url: "https://example.com/icon.png",
      id: Bun.randomUUIDv7(),
      created_at: "2000-01-01T00:00:00Z",
    });
    expect(message).toMatchObject({ type: "standard", username: null, icon_url: null });
    expect(message.author.id).toBe(stage.cast.bot.id);
    expect(message.created_at).not.toStartWith("2000");
  });

  test("takes null for what may be left out", async () => {
    const message = await post({ client_uuid: null, reply_to_id: null, thread_root_id: null });
    expect(message).toMatchObject({ reply_to_id: null, thread_root_id: null });
  });

  test("refuses every field that is wrong, by its name", async () => {
    const input = { body: 5, client_uuid: "1", reply_to_id: 5, thread_root_id: "", sent_to_channel: "yes" };
    const { status, json } = await bot.post(messages, input);
    expect(status).toBe(422);
    expect(Object.keys(json.errors ?? {}).sort()).toEqual(Object.keys(input).sort());
    expect((await bot.post(messages, { body: "x", sent_to_channel: null })).status).toBe(422);
  });
});

describe("a reply", () => {
  test("names the message that it answers, or the root of its thread, or both", async () => {
    const { id } = await post({});
    expect(await post({ reply_to_id: id })).toMatchObject({ reply_to_id: id, thread_root_id: null });
    const inThread = await post({ thread_root_id: id.toUpperCase(), sent_to_channel: true });
    expect(inThread).toMatchObject({ reply_to_id: null, thread_root_id: id, sent_to_channel: true });
    const both = await post({ thread_root_id: id, reply_to_id: inThread.id });
    expect(both).toMatchObject({ reply_to_id: inThread.id, thread_root_id: id, sent_to_channel: false });
    expect(await read(both.id)).toEqual(both);
  });

  test("may answer a thread reply inline, but not make a thread of it", async () => {
    const root = await post({});
    const reply = await post({ thread_root_id: root.id });
    expect((await post({ reply_to_id: reply.id })).reply_to_id).toBe(reply.id);
    const { status, json } = await bot.post(messages, { body: "deeper", thread_root_id: reply.id });
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["thread_root_id"]]);
  });

  test("is refused, on the field, for a target that is gone, a notice, elsewhere or nowhere", async () => {
    const { cast, workspace } = stage;
    const deleted = await post({});
    await bot.del(`${messages}/${deleted.id}`);
    await workspace.join(cast.open, cast.stranger);
    const page = await bot.get<{ data: Message[] }>(messages);
    const notice = page.json.data.find(({ type }) => type === "member_joined");
    const elsewhere = await workspace.message(cast.secret, cast.bot);

    for (const target of [deleted.id, notice?.id, elsewhere.id, Bun.randomUUIDv7()]) {
      expect(target).toBeString();
      for (const field of ["reply_to_id", "thread_root_id"]) {
        const { status, json } = await bot.post(messages, { body: "x", [field]: target });
        expect([status, Object.keys(json.errors ?? {})]).toEqual([422, [field]]);
      }
    }
    const both = await bot.post(messages, { body: "x", reply_to_id: deleted.id, thread_root_id: deleted.id });
    expect(Object.keys(both.json.errors ?? {}).sort()).toEqual(["reply_to_id", "thread_root_id"]);
  });

  test("stays when the message that it answers is deleted", async () => {
    const root = await post({});
    const reply = await post({ thread_root_id: root.id, reply_to_id: root.id });
    await bot.del(`${messages}/${root.id}`);
    expect(await read(reply.id)).toEqual(reply);
  });
});

describe("editing a message", () => {
  test("replaces its body, marks it as edited and leaves the rest", async () => {
    const root = await post({});
    const message = await post({ thread_root_id: root.id });
    await bot.put(`${messages}/${message.id}/reactions/%F0%9F%91%8D`);
    const { status, json } = await bot.patch<MessageData>(`${messages}/${message.id}`, { body: " better " });
    expect(status).toBe(200);
    const reactions = [{ emoji: "👍", count: 1 }];
    expect(json.data).toEqual({ ...message, body: "better", reactions, edited_at: timestamp });
    expect(Date.parse(json.data.edited_at ?? "")).toBeGreaterThanOrEqual(
      Date.parse(message.created_at ?? ""),
    );
    expect(await read(message.id)).toEqual(json.data);
  });

  test("leaves it alone where the new body is refused", async () => {
    const message = await post({});
    for (const body of ["", "  ", 5, null, undefined, []]) {
      expect((await bot.patch(`${messages}/${message.id}`, { body })).status).toBe(422);
    }
    expect(await read(message.id)).toEqual(message);
  });
});

describe("deleting a message", () => {
  test("leaves a tombstone: no body, no reactions, everything else as it was", async () => {
    const root = await post({});
    const message = await post({ thread_root_id: root.id });
    await bot.put(`${messages}/${message.id}/reactions/%F0%9F%91%8D`);
    expect((await bot.del(`${messages}/${message.id}`)).status).toBe(204);
    expect(await read(message.id)).toEqual({ ...message, body: "", reactions: [] });
    const page = await bot.get<{ data: Message[] }>(messages);
    expect(page.json.data[0]).toEqual({ ...message, body: "", reactions: [] });
  });

  test("again is answered the same, by its author and by nobody else", async () => {
    const { id } = await post({});
    expect((await bot.del(`${messages}/${id}`)).status).toBe(204);
    expect((await bot.del(`${messages}/${id}`)).status).toBe(204);
    expect((await member.del(`${messages}/${id}`)).status).toBe(403);
  });

  test("makes it impossible to edit, to react to and to answer", async () => {
    const { id } = await post({});
    await bot.del(`${messages}/${id}`);
    expect((await bot.patch(`${messages}/${id}`, { body: "back" })).status).toBe(404);
    expect((await bot.put(`${messages}/${id}/reactions/%F0%9F%91%8D`)).status).toBe(422);
    expect((await bot.del(`${messages}/${id}/reactions/%F0%9F%91%8D`)).status).toBe(204);
    expect((await read(id)).body).toBe("");
  });

  test("leaves nothing of its body in the data", async () => {
    const { id } = await post({ body: "said in error" });
    await bot.del(`${messages}/${id}`);
    const rows = await stage.workspace.database.ask((db) => db.query.messages.findMany());
    expect(rows.filter(({ body }) => body.includes("said in error"))).toEqual([]);
  });
});

describe("a message of one's own", () => {
  test("cannot be changed by a person who has left the channel", async () => {
    const { cast, workspace } = stage;
    const leaver = await workspace.person(cast.teamId, "Lea Leaver");
    await workspace.join(cast.open, leaver);
    const client = await stage.as(leaver);
    const { id } = await post({}, client);
    await workspace.leave(cast.open, leaver);
    expect((await client.get(`${messages}/${id}`)).status).toBe(200);
    expect((await client.patch(`${messages}/${id}`, { body: "x" })).status).toBe(403);
    expect((await client.del(`${messages}/${id}`)).status).toBe(403);
    expect((await client.put(`${messages}/${id}/reactions/%F0%9F%91%8D`)).status).toBe(403);
    expect((await client.post(messages, { body: "x" })).status).toBe(403);
  });
});
