import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { startCreatorStage } from "../support/creator-stage.ts";
import { run, runJson } from "../support/cli.ts";
import type { Answer } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import {
  digestOf,
  envelopeOf,
  type Shown,
  signatureOf,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

type Edited = { data: WebhookSubscription };

async function edit({ id }: { id: string }, change: object): Promise<Answer<Edited>> {
  return await stage.api.patch<Edited>(`/webhooks/${id}`, change);
}

const bodiesAt = (receiver: Receiver) => receiver.requests.map((request) => envelopeOf(request).data.body);

describe("editing a subscription", () => {
  test("changes what the request names, and leaves everything else as it was", async () => {
    await using listener = await stage.listen();
    const { secret: _, ...before } = listener.subscription;
    const renamed = await edit(before, { name: "CI, new" });
    expect([renamed.status, renamed.json.data]).toEqual([200, { ...before, name: "CI, new" }]);
    const narrowed = await edit(before, { events: ["message.created", "message.created", "reaction.added"] });
    const after = { ...before, name: "CI, new", events: ["message.created", "reaction.added"] };
    expect(narrowed.json.data).toEqual(after as WebhookSubscription);
    expect((await edit(before, {})).json.data).toEqual(after as WebhookSubscription);
    expect(await stage.shown(before)).toEqual({ ...after, deliveries: [] } as Shown);
  });

  test("sends what happens from then on by the new events and channels, from the next event on", async () => {
    const [one, other] = [await stage.channel(), await stage.channel()];
    await using listener = await stage.listen({ events: ["message.created"], channel_ids: [one.id] });
    await stage.post(one, "first");
    await stage.post(other, "elsewhere");
    expect((await edit(listener.subscription, { channel_ids: [other.id] })).status).toBe(200);
    await stage.post(one, "no longer");
    await stage.post(other, "second");
    expect((await edit(listener.subscription, { channel_ids: null })).json.data.channel_ids).toBeNull();
    await stage.post(one, "third");
    expect((await edit(listener.subscription, { events: ["message.updated"] })).status).toBe(200);
    await stage.post(one, "of another type");
    await listener.delivered();
    expect(bodiesAt(listener.receiver)).toEqual(["first", "second", "third"]);
  });

  test("sends what waits to the new URL with the same secret, at once after the failures of the one before", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen(
      { events: ["message.created"] },
      () => new Response(null, { status: 500 }),
    );
    await using now = startReceiver();
    const { secret, ...subscription } = listener.subscription;
    await stage.post(channel, "waits");
    await until("it fails", async () => (await stage.shown(subscription)).consecutive_failures > 0);
    const moved = await edit(subscription, { url: now.url });
    expect(moved.json.data).toMatchObject({ url: now.url, consecutive_failures: 0, status: "active" });
    await stage.drained(subscription);
    const [request] = now.requests;
    if (!request) throw new Error("nothing arrived at the new URL");
    expect(envelopeOf(request).data.body).toBe("waits");
    expect(signatureOf(request).digests).toEqual([digestOf(request, secret)]);
    const { deliveries } = await stage.shown(subscription);
    expect(deliveries.map(({ succeeded }) => succeeded).slice(0, 1)).toEqual([true]);
    expect(deliveries.length).toBeGreaterThan(1);
  });

  test("keeps the events of a disabled subscription waiting, for the new URL", async () => {
    const channel = await stage.channel();
    await using before = startReceiver();
    await using after = startReceiver();
    const subscription = await stage.subscribe(before, { events: ["message.created"] });
    await stage.disable(subscription);
    await stage.post(channel, "waits");
    expect((await edit(subscription, { url: after.url })).json.data.status).toBe("disabled");
    await stage.enable(subscription);
    await stage.drained(subscription);
    expect([bodiesAt(before), bodiesAt(after)]).toEqual([[], ["waits"]]);
  });

  test("is in the audit log, with what was changed and without the values", async () => {
    await using listener = await stage.listen();
    await edit(listener.subscription, { name: "Another", url: `${listener.receiver.url}?token=hush` });
    const [entry] = await stage.audit("webhook.edited");
    expect(entry).toMatchObject({
      actor: `human:${stage.team.owner.id}`,
      target: `webhook:${listener.subscription.id}`,
      details: { name: "test", changed: ["name", "url"] },
    });
    expect(JSON.stringify(entry)).not.toContain("hush");
  });

  test("is refused for what creating one is refused for, and then changes nothing", async () => {
    await using listener = await stage.listen();
    const { subscription } = listener;
    const before = await stage.shown(subscription);
    for (const [field, change] of Object.entries({
      name: { name: "" },
      url: { url: "ftp://example.com" },
      events: { events: [] },
      "events.0": { events: ["message.read"] },
      channel_ids: { channel_ids: [] },
      "channel_ids.0": { channel_ids: [crypto.randomUUID()] },
      body: "[]",
    })) {
      const { status, json } = await stage.api.patch(`/webhooks/${subscription.id}`, change);
      expect([field, status, Object.keys(json.errors ?? {})]).toEqual([field, 422, [field]]);
    }
    expect(await stage.shown(subscription)).toEqual(before);
    expect((await stage.api.patch(`/webhooks/${crypto.randomUUID()}`, { name: "" })).status).toBe(404);
  });
});

test("a field that is not known is refused, with the nearest that there is: a channel never means all of them", async () => {
  await using listener = await stage.listen();
  const channel = await stage.channel();
  const { id, secret: _, ...fields } = listener.subscription;
  const whole = { name: "CI", url: fields.url, events: ["message.created"] };
  const count = async () => (await stage.api.get<{ data: unknown[] }>("/webhooks")).json.data.length;
  const before = [await count(), await stage.shown({ id })];
  const editable = "name, url, events, channel_ids, headers";
  for (const [send, known] of [
    [(more: object) => stage.api.post("/webhooks", { ...whole, ...more }), `${editable}, pull`],
    [(more: object) => stage.api.patch(`/webhooks/${id}`, more), editable],
  ] as const) {
    const { status, json } = await send({ channel_id: channel.id, colour: "red" });
    expect(status).toBe(422);
    expect(json.errors).toEqual({
      channel_id: ["The channel_id field is not known. Did you mean channel_ids?"],
      colour: [`The colour field is not known. There are: ${known}`],
    });
  }
  expect([await count(), await stage.shown({ id })]).toEqual(before);
});

test("the command edits by name, and says what it takes when there is nothing to change", async () => {
  const channel = await stage.channel();
  await using listener = await stage.listen({ name: "By command" });
  const { secret: _, ...before } = listener.subscription;
  const args = ["webhooks", "edit", "By command"];
  const more = ["--name", "Renamed", "--event", "message.created", "--channel", channel.slug];
  const edited = await runJson<WebhookSubscription>(stage.dataDir, [...args, ...more]);
  const after = { ...before, name: "Renamed", events: ["message.created"], channel_ids: [channel.id] };
  expect(edited).toMatchObject(after as WebhookSubscription);
  await stage.post(channel, "told at once");
  await listener.receiver.received(1);
  const widened = ["webhooks", "edit", "Renamed", "--all-channels"];
  expect((await runJson<WebhookSubscription>(stage.dataDir, widened)).channel_ids).toBeNull();
  const nothing = await run(stage.dataDir, ["webhooks", "edit", "Renamed"]);
  expect([nothing.status, nothing.stderr]).toEqual([
    2,
    expect.stringContaining("--url") as unknown as string,
  ]);
});

test("while deliveries depend on their creators, nobody else sends a creator's events elsewhere", async () => {
  await using stage = await startCreatorStage();
  await using receiver = startReceiver();
  const [creator, other] = [await stage.creator("member"), await stage.creator("owner")];
  const { id } = await stage.subscribe(creator, receiver);
  const url = `${receiver.url}/elsewhere`;
  expect((await (await stage.as(other)).patch(`/webhooks/${id}`, { url })).status).toBe(403);
  expect((await stage.webhooks.shown({ id })).url).toBe(receiver.url);
  expect((await (await stage.as(creator)).patch(`/webhooks/${id}`, { url })).status).toBe(200);
  const hidden = (await stage.channels(creator))["private, not in it"];
  const refused = await (await stage.as(creator)).patch(`/webhooks/${id}`, { channel_ids: [hidden?.id] });
  expect([refused.status, Object.keys(refused.json.errors ?? {})]).toEqual([422, ["channel_ids.0"]]);
});
