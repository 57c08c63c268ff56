import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { until } from "../support/conditions.ts";
import { type Answering, statuses } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { type Listener, startWebhookStage, type WebhookStage, refusalOf } from "../support/webhook-stage.ts";

const disableAfter = 4;
/** Long enough that no retry happens during a test, and short enough that failures accumulate quickly. */
const backoffBase = "4";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({
    WEBHOOKS_BACKOFF_BASE: backoffBase,
    WEBHOOKS_DISABLE_AFTER: String(disableAfter),
    WEBHOOKS_MAX_ATTEMPTS: "3",
  });
});
afterAll(() => stage[Symbol.asyncDispose]());

async function listenTo(answer?: Answering): Promise<Listener & { channel: ChannelRow }> {
  const channel = await stage.channel();
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] }, answer);
  return Object.assign(listener, { channel });
}

/** Posts a message and waits until its first attempt is in the log. */
async function attempt(
  { channel, subscription }: Listener & { channel: ChannelRow },
  body: string,
): Promise<void> {
  const before = (await stage.shown(subscription)).deliveries.length;
  await stage.post(channel, body);
  await until(
    "the attempt is logged",
    async () => (await stage.shown(subscription)).deliveries.length > before,
  );
}

async function bodiesAt(listener: Listener): Promise<string[]> {
  return (await listener.delivered()).map(({ data }) => String(data.body)).sort();
}

/** The audit entries about the subscription, newest first. */
async function auditOf({ id }: { id: string }, action: string) {
  return (await stage.audit(action)).filter(({ target }) => target === `webhook:${id}`);
}

describe("a subscription whose attempts keep failing", () => {
  test("is disabled, with a timestamp and an audit entry by the service itself", async () => {
    await using listener = await listenTo(statuses(500));
    const { subscription } = listener;
    for (const body of ["1", "2", "3"]) await attempt(listener, body);
    expect(await stage.shown(subscription)).toMatchObject({
      status: "active",
      disabled_at: null,
      consecutive_failures: 3,
    });
    const before = Date.now();
    await attempt(listener, "4");
    const shown = await stage.shown(subscription);
    expect(shown).toMatchObject({ status: "disabled", consecutive_failures: 4 });
    expect(Date.parse(shown.disabled_at ?? "")).toBeWithin(before, Date.now() + 1);
    const [entry, ...others] = await auditOf(subscription, "webhook.auto_disabled");
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ actor: "parley", details: { name: "test", consecutive_failures: 4 } });
  });

  test("is sent nothing further, and later events wait with the others", async () => {
    await using listener = await listenTo(statuses(500));
    for (const body of ["1", "2", "3", "4"]) await attempt(listener, body);
    await using other = await stage.listen({ channel_ids: [listener.channel.id] });
    await stage.post(listener.channel, "5");
    expect(await bodiesAt(other)).toEqual(["5"]);
    expect(await stage.queued(listener.subscription)).toBe(5);
    expect(listener.receiver.requests).toHaveLength(4);
  });

  test("stays active after a success in between", async () => {
    await using listener = await listenTo(statuses(500, 500, 500, 200, 500, 500, 500));
    for (const body of ["1", "2", "3", "4", "5", "6", "7"]) await attempt(listener, body);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      status: "active",
      consecutive_failures: 3,
    });
  });

  test("counts failures of concurrent attempts as one, and logs each attempt", async () => {
    await using listener = await listenTo();
    const { channel, receiver, subscription } = listener;
    await stage.prove(channel, subscription);
    const release = Promise.withResolvers<void>();
    receiver.answer = async () => {
      await release.promise;
      return new Response(null, { status: 500 });
    };
    const proved = receiver.requests.length;
    for (let nth = 0; nth < 8; nth++) await stage.post(channel, `message ${nth}`);
    await receiver.received(proved + 8);
    release.resolve();
    const failed = async () => (await stage.shown(subscription)).deliveries.filter((each) => !each.succeeded);
    await until("all are logged", async () => (await failed()).length === 8);
    expect(await stage.shown(subscription)).toMatchObject({ status: "active", consecutive_failures: 1 });
    expect(await auditOf(subscription, "webhook.auto_disabled")).toEqual([]);
  });
});

describe("enabling", () => {
  test("clears the streak and sends waiting events immediately, although they were due hours later", async () => {
    await using listener = await listenTo(statuses(500, 500, 500, 500, 204));
    for (const body of ["1", "2", "3", "4"]) await attempt(listener, body);
    const enabled = await stage.enable(listener.subscription);
    expect(enabled).toMatchObject({ status: "active", consecutive_failures: 0, disabled_at: null });
    await listener.receiver.received(8);
    const bodies = (await listener.delivered()).map(({ data }) => data.body);
    expect(bodies).toEqual(["1", "2", "3", "4", "1", "2", "3", "4"]);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      status: "active",
      consecutive_failures: 0,
    });
    const [entry] = await auditOf(listener.subscription, "webhook.enabled");
    expect(entry).toMatchObject({ actor, details: { name: "test" } });
  });

  test("gives waiting events their remaining attempts, and no more", async () => {
    await using listener = await listenTo(statuses(500));
    await attempt(listener, "only");
    for (const nth of [2, 3]) {
      await stage.disable(listener.subscription);
      await stage.enable(listener.subscription);
      await listener.receiver.received(nth);
      await until(
        "it is logged",
        async () => (await stage.shown(listener.subscription)).deliveries.length === nth,
      );
    }
    await stage.drained(listener.subscription);
    expect(listener.receiver.requests).toHaveLength(3);
  });

  test("sends events from the meantime, and accepts new ones again", async () => {
    await using listener = await listenTo();
    await stage.disable(listener.subscription);
    await stage.post(listener.channel, "1 waits");
    await stage.enable(listener.subscription);
    await stage.post(listener.channel, "2 is new");
    expect(await bodiesAt(listener)).toEqual(["1 waits", "2 is new"]);
  });

  test("drops waiting events on request", async () => {
    await using listener = await listenTo(statuses(500, 500, 500, 500, 204));
    for (const body of ["1", "2", "3", "4"]) await attempt(listener, body);
    await stage.enable(listener.subscription, true);
    expect(await stage.queued(listener.subscription)).toBe(0);
    await stage.post(listener.channel, "new");
    expect(await bodiesAt(listener)).toEqual(["1", "2", "3", "4", "new"]);
    const entries = await auditOf(listener.subscription, "webhook.pending_discarded");
    expect(entries.map(({ details }) => details)).toEqual([{ name: "test", discarded: 4 }]);
  });

  test("an active subscription changes nothing: its streak and its retries stay", async () => {
    await using listener = await listenTo(statuses(500));
    await attempt(listener, "1");
    await stage.enable(listener.subscription);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      status: "active",
      consecutive_failures: 1,
    });
    expect(await auditOf(listener.subscription, "webhook.enabled")).toEqual([]);
    await attempt(listener, "2");
    expect(listener.receiver.requests).toHaveLength(2);
  });
});

describe("disabling by hand", () => {
  test("is audited once with the actor, and keeps waiting events", async () => {
    await using listener = await listenTo(statuses(500, 204));
    await attempt(listener, "1");
    await stage.disable(listener.subscription);
    await stage.disable(listener.subscription);
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({
      status: "disabled",
      disabled_at: expect.any(String),
      consecutive_failures: 1,
    });
    expect(await stage.queued(listener.subscription)).toBe(1);
    const entries = await auditOf(listener.subscription, "webhook.disabled");
    expect(entries.map((entry) => entry.actor)).toEqual([actor]);
  });

  test("takes effect during a delivery, whose response still counts", async () => {
    const release = Promise.withResolvers<void>();
    await using listener = await listenTo(async () => {
      await release.promise;
      return new Response();
    });
    await stage.post(listener.channel, "under way");
    await listener.receiver.nth(1);
    await stage.disable(listener.subscription);
    release.resolve();
    await stage.drained(listener.subscription);
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({
      status: "disabled",
      consecutive_failures: 0,
      last_success_at: expect.any(String),
    });
    expect(shown.deliveries).toHaveLength(1);
  });

  test("survives a restart, and so do waiting events", async () => {
    await using own = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: backoffBase });
    const channel = await own.channel();
    await using listener = await own.listen({ channel_ids: [channel.id] }, statuses(500, 204));
    await own.post(channel, "waits");
    await until(
      "it is logged",
      async () => (await own.shown(listener.subscription)).consecutive_failures === 1,
    );
    await own.disable(listener.subscription);
    await own.restart({ WEBHOOKS_BACKOFF_BASE: backoffBase });
    expect(await own.shown(listener.subscription)).toMatchObject({ status: "disabled" });
    expect(await own.queued(listener.subscription)).toBe(1);
    expect(listener.receiver.requests).toHaveLength(1);
    await own.enable(listener.subscription);
    await listener.receiver.nth(2);
    await own.drained(listener.subscription);
  });
});

test("deleting a subscription drops its waiting events, immediately and permanently", async () => {
  await using listener = await listenTo(statuses(500, 204));
  await attempt(listener, "1");
  expect((await stage.api.del(`/webhooks/${listener.subscription.id}`)).status).toBe(204);
  const { id } = listener.subscription;
  expect(await refusalOf(stage.enable(listener.subscription))).toMatch(/no such/);
  expect((await stage.api.get(`/webhooks/${id}`)).status).toBe(404);
  expect(listener.receiver.requests).toHaveLength(1);
});
