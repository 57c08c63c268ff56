import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { verifyDeliverySignature } from "../../src/deliveries/signature.ts";
import { apiClient } from "../support/client.ts";
import {
  digestOf,
  envelopeOf,
  type Listener,
  signatureOf,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const created = ["message.created"];

/** The bodies of the delivered messages, in alphabetical order, because deliveries may overtake each other. */
async function bodiesAt(listener: Listener): Promise<string[]> {
  return (await listener.delivered()).map(({ data }) => String(data.body)).sort();
}

describe("an event goes to the matching subscriptions", () => {
  test("by type", async () => {
    const channel = await stage.channel();
    await using deletions = await stage.listen({ events: ["message.deleted"], channel_ids: [channel.id] });
    await using others = await stage.listen({
      events: ["reaction.added", "message.updated"],
      channel_ids: [channel.id],
    });
    const { id } = await stage.post(channel);
    await stage.api.patch(`/channels/${channel.id}/messages/${id}`, { body: "edited" });
    await stage.api.del(`/channels/${channel.id}/messages/${id}`);
    expect((await deletions.delivered()).map(({ type }) => type)).toEqual(["message.deleted"]);
    expect((await others.delivered()).map(({ type }) => type)).toEqual(["message.updated"]);
  });

  test("by channel, and not to those that list other channels", async () => {
    const [one, two, three] = [await stage.channel(), await stage.channel(), await stage.channel()];
    await using listener = await stage.listen({ events: created, channel_ids: [one.id, two.id] });
    await stage.post(one, "in one");
    await stage.post(two, "in two");
    await stage.post(three, "in three");
    expect(await bodiesAt(listener)).toEqual(["in one", "in two"]);
  });

  test("from everywhere if workspace-wide: private channels, direct messages and future channels", async () => {
    await using omitted = await stage.listen({ events: created });
    await using explicit = await stage.listen({ events: created, channel_ids: null });
    const friend = await stage.workspace.person(stage.team.id, "Friend");
    const direct = await stage.workspace.direct(stage.team.owner, friend);
    await stage.post(stage.team.general, "general");
    await stage.post(await stage.channel("private"), "private");
    await stage.post(direct, "direct");
    expect(await bodiesAt(omitted)).toEqual(["direct", "general", "private"]);
    expect(await bodiesAt(explicit)).toEqual(["direct", "general", "private"]);
  });

  test("never from another workspace", async () => {
    await using listener = await stage.listen({ events: created });
    const other = await stage.workspace.team("Umbrella");
    const { token } = await stage.workspace.token(other.owner);
    const outsider = apiClient(stage.server.url, token);
    const path = `/channels/${other.general.id}/messages`;
    expect((await outsider.post(path, { body: "elsewhere" })).status).toBe(201);
    expect(await bodiesAt(listener)).toEqual([]);
  });

  test("once each, even if a type or channel is listed twice", async () => {
    const channel = await stage.channel();
    const channel_ids = [channel.id, channel.id.toUpperCase(), channel.id];
    await using listener = await stage.listen({ events: [...created, ...created], channel_ids });
    await stage.post(channel, "once");
    expect(await bodiesAt(listener)).toEqual(["once"]);
  });

  test("with the same id for all, each signed with its own secret", async () => {
    const channel = await stage.channel();
    const listeners = await Promise.all(
      [1, 2, 3].map(() => stage.listen({ events: created, channel_ids: [channel.id] })),
    );
    await stage.post(channel);
    const requests = await Promise.all(listeners.map(({ receiver }) => receiver.nth(1)));
    expect(new Set(requests.map(({ text }) => text)).size).toBe(1);
    for (const [index, request] of requests.entries()) {
      const secrets = listeners.map(({ subscription }) => digestOf(request, subscription.secret));
      expect(signatureOf(request).digests).toEqual([secrets[index] ?? ""]);
    }
    for (const listener of listeners) await listener[Symbol.asyncDispose]();
  });

  test("and to none created after it", async () => {
    const channel = await stage.channel();
    await stage.post(channel, "before");
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    await stage.post(channel, "after");
    expect(await bodiesAt(listener)).toEqual(["after"]);
  });

  test("and to a disabled one once it is enabled", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    await stage.disable(listener.subscription);
    await stage.post(channel, "meanwhile");
    expect([await stage.queued(listener.subscription), listener.receiver.requests]).toEqual([1, []]);
    await stage.enable(listener.subscription);
    await stage.post(channel, "afterwards");
    expect(await bodiesAt(listener)).toEqual(["afterwards", "meanwhile"]);
  });

  test("and to no deleted one", async () => {
    const channel = await stage.channel();
    await using kept = await stage.listen({ events: created, channel_ids: [channel.id] });
    await using deleted = await stage.listen({ events: created, channel_ids: [channel.id] });
    await stage.api.del(`/webhooks/${deleted.subscription.id}`);
    await stage.post(channel, "too late");
    expect(await bodiesAt(kept)).toEqual(["too late"]);
    expect(await bodiesAt(deleted)).toEqual([]);
  });
});

describe("a delivery", () => {
  test("is a JSON POST whose headers match its envelope", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    const before = Date.now();
    await stage.post(channel);
    const request = await listener.receiver.nth(1);
    const envelope = envelopeOf(request);
    expect(request.method).toBe("POST");
    expect(request.headers.get("content-type")).toMatch(/^application\/json\b/);
    expect(Object.keys(envelope)).toEqual(["id", "type", "created_at", "data"]);
    expect(envelope.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(envelope.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);
    expect(Date.parse(envelope.created_at)).toBeWithin(before, Date.now() + 1);
    expect(request.headers.get("x-service-event")).toBe(envelope.type);
    expect(request.headers.get("x-service-delivery")).toBe(envelope.id);
  });

  test("is signed over its timestamp, a dot and the bytes of its body", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    const before = Math.floor(Date.now() / 1000);
    await stage.post(channel, '👩‍👩‍👧 \u2028 \\ " é');
    const request = await listener.receiver.nth(1);
    const header = request.headers.get("x-service-signature") ?? "";
    const { secret } = listener.subscription;
    expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(signatureOf(request).time).toBeWithin(before, Date.now() / 1000 + 1);
    expect(signatureOf(request).digests).toEqual([digestOf(request, secret)]);
    expect(verifyDeliverySignature(header, request.body, secret, before)).toMatchObject({ ok: true });
  });

  test("goes to the exact URL of the subscription, including its query", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    const { port } = new URL(listener.receiver.url);
    const url = `http://127.0.0.1:${port}/a%2Fb/c?x=1&y=%20z`;
    const second = await stage.subscribe({ url }, { events: created, channel_ids: [channel.id] });
    await stage.post(channel);
    await stage.drained(second);
    await stage.drained(listener.subscription);
    expect(listener.receiver.requests.map(({ path }) => path).sort()).toEqual([
      "/a%2Fb/c?x=1&y=%20z",
      "/hook",
    ]);
    expect(listener.receiver.requests.map(({ headers }) => headers.get("host"))).toEqual([
      `127.0.0.1:${port}`,
      `127.0.0.1:${port}`,
    ]);
  });

  test("carries the longest message completely", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    const body = "🙂".repeat(8000);
    await stage.post(channel, body);
    expect((await listener.delivered())[0]?.data.body).toBe(body);
  });

  test("is in the log that the API returns, as a successful attempt", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen({ events: created, channel_ids: [channel.id] });
    await stage.post(channel);
    const [envelope] = await listener.delivered();
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({
      status: "active",
      consecutive_failures: 0,
      last_success_at: expect.any(String),
    });
    expect(shown.deliveries).toEqual([
      {
        id: expect.any(String),
        event_type: "message.created",
        event_id: envelope?.id ?? "",
        succeeded: true,
        response_status: 204,
        error: null,
        created_at: expect.any(String),
      },
    ]);
  });
});
