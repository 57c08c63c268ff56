import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import {
  type Envelope,
  type Listener,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A channel, and a listener to everything that happens in it. */
async function listenIn(
  visibility: "public" | "private" = "public",
): Promise<Listener & { channel: ChannelRow }> {
  const channel = await stage.channel(visibility);
  return Object.assign(await stage.listen({ channel_ids: [channel.id] }), { channel });
}

function typesOf(envelopes: Envelope[]): string[] {
  return envelopes.map(({ type }) => type).sort();
}

function dataOf(envelopes: Envelope[], type: string): unknown {
  return envelopes.find((envelope) => envelope.type === type)?.data;
}

describe("message.created", () => {
  test("carries the message of the API's response", async () => {
    await using listener = await listenIn();
    const message = await stage.post(listener.channel, "Grüße 👋\n日本語");
    const [envelope, ...others] = await listener.delivered();
    expect(envelope).toMatchObject({ type: "message.created", data: message });
    expect(envelope?.data).toEqual(message);
    expect(others).toEqual([]);
  });

  test("carries a reply's targets and the echo of a thread reply", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel);
    const { json } = await stage.api.post<{ data: Message }>(`/channels/${listener.channel.id}/messages`, {
      body: "reply",
      reply_to_id: id,
      thread_root_id: id,
      sent_to_channel: true,
    });
    const envelopes = await listener.delivered();
    expect(envelopes).toHaveLength(2);
    expect(envelopes.map(({ data }) => data)).toContainEqual(json.data);
    expect(json.data).toMatchObject({ reply_to_id: id, thread_root_id: id, sent_to_channel: true });
  });

  test("fires once per client_uuid, however often and however fast it is repeated", async () => {
    await using listener = await listenIn();
    const body = { body: "once", client_uuid: crypto.randomUUID() };
    const path = `/channels/${listener.channel.id}/messages`;
    const send = async () => await stage.api.post<{ data: Message }>(path, body);
    const answers = [...(await Promise.all([send(), send(), send(), send()])), await send()];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    expect(new Set(answers.map(({ json }) => json.data.id)).size).toBe(1);
    expect(typesOf(await listener.delivered())).toEqual(["message.created"]);
  });

  test("does not fire for a rejected message", async () => {
    await using listener = await listenIn();
    const path = `/channels/${listener.channel.id}/messages`;
    expect((await stage.api.post(path, { body: " " })).status).toBe(422);
    expect((await stage.api.post(path, { body: "x", reply_to_id: crypto.randomUUID() })).status).toBe(422);
    expect(await listener.delivered()).toEqual([]);
  });

  test("carries the name and icon given to an incoming webhook", async () => {
    const channel = await stage.channel();
    const hook = await stage.incoming(channel);
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    await stage.send(hook.token, { text: "built", username: "CI", icon_url: "https://example.com/ci.png" });
    const [envelope] = await listener.delivered();
    const [message] = await stage.messages(channel);
    expect(envelope?.data).toEqual({ ...message });
    expect(envelope?.data).toMatchObject({
      body: "built",
      username: "CI",
      icon_url: "https://example.com/ci.png",
      author: { id: hook.bot.id, name: hook.bot.name, type: "bot" },
    });
  });
});

describe("message.updated", () => {
  test("carries the message of the edit's response", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel);
    const path = `/channels/${listener.channel.id}/messages/${id}`;
    const { json } = await stage.api.patch<{ data: Message }>(path, { body: " better " });
    const envelopes = await listener.delivered();
    expect(typesOf(envelopes)).toEqual(["message.created", "message.updated"]);
    expect(dataOf(envelopes, "message.updated")).toEqual(json.data);
    expect(json.data).toMatchObject({ body: "better", edited_at: expect.any(String) });
  });

  test("does not fire for a rejected edit", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel);
    const path = `/channels/${listener.channel.id}/messages/${id}`;
    expect((await stage.api.patch(path, { body: "" })).status).toBe(422);
    await stage.api.del(path);
    expect((await stage.api.patch(path, { body: "too late" })).status).toBe(404);
    expect(typesOf(await listener.delivered())).toEqual(["message.created", "message.deleted"]);
  });
});

describe("message.deleted", () => {
  test("carries the tombstone as the API returns it, and fires once", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel, "regrettable");
    const path = `/channels/${listener.channel.id}/messages/${id}`;
    await stage.api.put(`${path}/reactions/%F0%9F%91%8D`);
    expect((await stage.api.del(path)).status).toBe(204);
    expect((await stage.api.del(path)).status).toBe(204);
    const envelopes = await listener.delivered();
    expect(typesOf(envelopes)).toEqual(["message.created", "message.deleted", "reaction.added"]);
    const { json } = await stage.api.get<{ data: Message }>(path);
    expect(dataOf(envelopes, "message.deleted")).toEqual(json.data);
    expect(json.data).toMatchObject({ id, body: "", reactions: [] });
  });
});

describe("reaction.added", () => {
  test("carries channel, message, emoji and user, and nothing else", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel);
    await stage.api.put(`/channels/${listener.channel.id}/messages/${id}/reactions/%F0%9F%91%8D`);
    const envelopes = await listener.delivered();
    const { owner } = stage.team;
    expect(dataOf(envelopes, "reaction.added")).toEqual({
      channel_id: listener.channel.id,
      message_id: id,
      emoji: "👍",
      user: { id: owner.id, name: owner.name, type: "human" },
    });
  });

  test("fires when a reaction appears, but not for one that exists, is removed or is rejected", async () => {
    await using listener = await listenIn();
    const { id } = await stage.post(listener.channel);
    const path = `/channels/${listener.channel.id}/messages/${id}/reactions`;
    const thumb = encodeURIComponent("👍");
    for (const _ of [1, 2, 3]) await stage.api.put(`${path}/${thumb}`);
    expect((await stage.api.put(`${path}/nonsense`)).status).toBe(422);
    await stage.api.del(`${path}/${thumb}`);
    await stage.api.del(`${path}/${thumb}`);
    expect(typesOf(await listener.delivered())).toEqual(["message.created", "reaction.added"]);
    await stage.api.put(`${path}/${thumb}`);
    expect(typesOf(await listener.delivered())).toEqual([
      "message.created",
      "reaction.added",
      "reaction.added",
    ]);
  });
});

describe("channel.member_added", () => {
  test("fires together with the message.created of the notice, when somebody is added", async () => {
    await using listener = await listenIn("private");
    const person = await stage.workspace.person(stage.team.id, "Newcomer");
    const path = `/channels/${listener.channel.id}/members`;
    expect((await stage.api.post(path, { user_id: person.id })).status).toBe(201);
    const envelopes = await listener.delivered();
    const user = { id: person.id, name: "Newcomer", type: "human" };
    expect(typesOf(envelopes)).toEqual(["channel.member_added", "message.created"]);
    expect(dataOf(envelopes, "channel.member_added")).toEqual({ channel_id: listener.channel.id, user });
    expect(dataOf(envelopes, "message.created")).toMatchObject({
      type: "member_joined",
      body: "",
      author: user,
    });
  });

  test("does not fire for somebody who is already a member", async () => {
    await using listener = await listenIn("private");
    const path = `/channels/${listener.channel.id}/members`;
    expect((await stage.api.post(path, { user_id: stage.team.owner.id })).status).toBe(422);
    expect(await listener.delivered()).toEqual([]);
  });

  test("has no counterpart for members who leave, except the message.created of the notice", async () => {
    const channel = await stage.channel("private");
    const bot = await stage.bot(channel);
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    await stage.api.del(`/channels/${channel.id}/members/${bot.id}`);
    const envelopes = await listener.delivered();
    expect(envelopes).toHaveLength(1);
    expect(envelopes[0]).toMatchObject({ type: "message.created", data: { type: "member_left", body: "" } });
  });

  test("fires for changes by a process other than the server, and wakes the server", async () => {
    await using listener = await listenIn();
    await stage.bot(listener.channel);
    await listener.receiver.received(2);
    expect(typesOf(await listener.delivered())).toEqual(["channel.member_added", "message.created"]);
  });
});

test("a new channel fires no event, neither for its creation nor for its first member", async () => {
  await using listener = await stage.listen();
  const { status } = await stage.api.post("/channels", { name: "brand new", visibility: "private" });
  expect(status).toBe(201);
  expect(await listener.delivered()).toEqual([]);
});
