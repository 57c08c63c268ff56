import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { until } from "../support/conditions.ts";
import { type Answering, statuses } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { type Listener, startWebhookStage, type WebhookStage, refusalOf } from "../support/webhook-stage.ts";

const disableAfter = 4;
/** Long enough that no retry comes about by itself within a test, and so short that the pace of failures is quick. */
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

/** The audit entries that name the subscription, newest first. */
async function auditOf({ id }: { id: string }, action: string) {
  return (await stage.audit(action)).filter(({ target }) => target === `webhook:${id}`);
}

describe("after so many failed attempts in a row a subscription", () => {
  test("is disabled, with the time of it and an entry in the audit log by the service itself", async () => {
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

  test("is sent nothing further, and what happens then waits with the rest", async () => {
    await using listener = await listenTo(statuses(500));
    for (const body of ["1", "2", "3", "4"]) await attempt(listener, body);
    await using other = await stage.listen({ channel_ids: [listener.channel.id] });
    await stage.post(listener.channel, "5");
    expect(await bodiesAt(other)).toEqual(["5"]);
    expect(stage.queued(listener.subscription)).toBe(5);
    expect(listener.receiver.requests).toHaveLength(4);
  });

  test("stays active when there was a success in between", async () => {
    await using listener = await listenTo(statuses(500, 500, 500, 200, 500, 500, 500));
    for (const body of ["1", "2", "3", "4", "5", "6", "7"]) await attempt(listener, body);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      status: "active",
      consecutive_failures: 3,
    });
  });

  test("has failed once where attempts fail that were under way together, and is told so for each of them", async () => {
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
  test("clears the streak and sends at once what waited, though its turn was hours away", async () => {
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

  test("gives what waited the attempts that it has left, and no more", async () => {
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

  test("sends what happened meanwhile, and lets new events in again", async () => {
    await using listener = await listenTo();
    await stage.disable(listener.subscription);
    await stage.post(listener.channel, "1 waits");
    await stage.enable(listener.subscription);
    await stage.post(listener.channel, "2 is new");
    expect(await bodiesAt(listener)).toEqual(["1 waits", "2 is new"]);
  });

  test("drops what waited when it is told to", async () => {
    await using listener = await listenTo(statuses(500, 500, 500, 500, 204));
    for (const body of ["1", "2", "3", "4"]) await attempt(listener, body);
    await stage.enable(listener.subscription, true);
    expect(stage.queued(listener.subscription)).toBe(0);
    await stage.post(listener.channel, "new");
    expect(await bodiesAt(listener)).toEqual(["1", "2", "3", "4", "new"]);
    const entries = await auditOf(listener.subscription, "webhook.pending_discarded");
    expect(entries.map(({ details }) => details)).toEqual([{ name: "test", discarded: 4 }]);
  });

  test("an active subscription changes nothing: its streak and its waits stay", async () => {
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
  test("is audited once with who did it, and keeps what waits", async () => {
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
    expect(stage.queued(listener.subscription)).toBe(1);
    const entries = await auditOf(listener.subscription, "webhook.disabled");
    expect(entries.map((entry) => entry.actor)).toEqual([actor]);
  });

  test("holds while a delivery is under way, whose answer still counts", async () => {
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

  test("holds over a restart, and so does what waits", async () => {
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
    expect(own.queued(listener.subscription)).toBe(1);
    expect(listener.receiver.requests).toHaveLength(1);
    await own.enable(listener.subscription);
    await listener.receiver.nth(2);
    await own.drained(listener.subscription);
  });
});

test("deleting a subscription stops what waits for it, at once and for good", async () => {
  await using listener = await listenTo(statuses(500, 204));
  await attempt(listener, "1");
  expect((await stage.api.del(`/webhooks/${listener.subscription.id}`)).status).toBe(204);
  const { id } = listener.subscription;
  expect(await refusalOf(stage.enable(listener.subscription))).toMatch(/no such/);
  expect((await stage.api.get(`/webhooks/${id}`)).status).toBe(404);
  expect(listener.receiver.requests).toHaveLength(1);
});
