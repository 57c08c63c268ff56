import { describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { until } from "../support/conditions.ts";
import { type Answering, hang, startReceiver } from "../support/receivers/receiver.ts";
import { envelopeOf, type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const postEveryMs = 25;

/** Posts steadily until `isEnough`, and returns how many messages that were. */
async function postUntil(
  stage: WebhookStage,
  channel: ChannelRow,
  isEnough: () => boolean | Promise<boolean>,
): Promise<number> {
  let posted = 0;
  while (!(await isEnough())) {
    await stage.post(channel, `message ${++posted}`);
    await Bun.sleep(postEveryMs);
  }
  return posted;
}

/** A condition that holds once so many milliseconds have passed. */
function after(ms: number): () => boolean {
  const endsAt = performance.now() + ms;
  return () => performance.now() >= endsAt;
}

/** The messages that were taken, each once, in the order in which they were posted. */
function taken({ receiver }: Listener, isTaken: ReadonlySet<number>): string[] {
  const bodies = receiver.requests
    .filter((_, place) => isTaken.has(place))
    .map((request) => String(envelopeOf(request).data.body));
  return [...new Set(bodies)].toSorted((one, other) => Number(one.slice(8)) - Number(other.slice(8)));
}

/** A listener whose receiver is away or there, and the places of the requests that it took. */
async function startReceiverThatFails(stage: WebhookStage, channel: ChannelRow) {
  const isTaken = new Set<number>();
  const state = { isAway: () => false };
  const answer: Answering = (_request, nth) => {
    const isAway = state.isAway();
    if (!isAway) isTaken.add(nth - 1);
    return new Response(null, { status: isAway ? 502 : 204 });
  };
  return { listener: await stage.listen({ channel_ids: [channel.id] }, answer), isTaken, state };
}

const messages = (count: number) => Array.from({ length: count }, (_, index) => `message ${index + 1}`);

test("a receiver that restarts under steady traffic is not disabled, and gets every event", async () => {
  // The fourth failure comes 0.3 s after the first, the fifth would after 1.55 s.
  await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "1", WEBHOOKS_DISABLE_AFTER: "5" });
  const channel = await stage.channel();
  const { listener, isTaken, state } = await startReceiverThatFails(stage, channel);
  await using _listener = listener;
  const isBack = after(1_000);
  state.isAway = () => !isBack();
  const posted = await postUntil(stage, channel, isBack);
  await stage.drained(listener.subscription);
  expect(taken(listener, isTaken)).toEqual(messages(posted));
  expect(await stage.shown(listener.subscription)).toMatchObject({
    status: "active",
    consecutive_failures: 0,
  });
  expect(await stage.audit("webhook.auto_disabled")).toEqual([]);
}, 60_000);

test("a receiver that is down for long is disabled, logged once, and gets every event after it is enabled", async () => {
  await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "0.2", WEBHOOKS_DISABLE_AFTER: "4" });
  const channel = await stage.channel();
  const { listener, isTaken, state } = await startReceiverThatFails(stage, channel);
  await using _listener = listener;
  const { subscription } = listener;
  state.isAway = () => true;
  const isDisabled = async () => (await stage.shown(subscription)).status === "disabled";
  const before = await postUntil(stage, channel, isDisabled);
  expect(before).toBeLessThan(100);
  await Promise.all(
    Array.from({ length: 30 }, (_, nth) => stage.post(channel, `message ${before + nth + 1}`)),
  );
  const requests = listener.receiver.requests.length;
  expect(await stage.queued(subscription)).toBe(before + 30);

  state.isAway = () => false;
  expect(listener.receiver.requests).toHaveLength(requests);
  await stage.enable(subscription);
  await stage.drained(subscription);
  expect(taken(listener, isTaken)).toEqual(messages(before + 30));
  expect(await stage.audit("webhook.auto_disabled")).toHaveLength(1);
}, 60_000);

test("a receiver that fails from its first event on is disabled, although each event is tried only once", async () => {
  await using stage = await startWebhookStage({
    WEBHOOKS_BACKOFF_BASE: "",
    WEBHOOKS_DISABLE_AFTER: "3",
    WEBHOOKS_MAX_ATTEMPTS: "1",
  });
  const channel = await stage.channel();
  await using gone = startReceiver();
  const subscription = await stage.subscribe(gone, { channel_ids: [channel.id] });
  await gone[Symbol.asyncDispose]();
  await Promise.all([stage.post(channel), stage.post(channel), stage.post(channel)]);
  await until("it is disabled", async () => (await stage.shown(subscription)).status === "disabled");
});

test("a receiver that fails every tenth request gets every event, is never disabled, and delays nothing", async () => {
  await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "0.1", WEBHOOKS_DISABLE_AFTER: "2" });
  const channel = await stage.channel();
  // It refuses no event a third time, which would then wait for nearly as long as the test.
  const refused: string[] = [];
  await using listener = await stage.listen({ channel_ids: [channel.id] }, (request, nth) => {
    const { id } = envelopeOf(request);
    const refuses = nth % 10 === 0 && refused.indexOf(id) === refused.lastIndexOf(id);
    if (refuses) refused.push(id);
    return new Response(null, { status: refuses ? 500 : 204 });
  });
  for (let batch = 0; batch < 40; batch++) {
    await Promise.all(Array.from({ length: 10 }, () => stage.post(channel)));
  }
  await stage.drained(listener.subscription);
  const { status, deliveries } = await stage.shown(listener.subscription);
  expect([status, deliveries.length]).toEqual(["active", 20]);
  const sent = listener.receiver.requests.map((request) => envelopeOf(request).id);
  expect(new Set(sent).size).toBe(400);
  expect(sent).toHaveLength(400 + refused.length);
  expect(refused.length).toBeGreaterThanOrEqual(40);
}, 60_000);

describe("endpoints that hang", () => {
  test("delay no other receiver, although more of them hang at once than Bun allows requests in flight by default", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "30" });
    const channel = await stage.channel();
    await using receivers = new AsyncDisposableStack();
    // No more at each than there may be in flight to one host.
    const each = 50;
    const hanging = Array.from({ length: 6 }, () => receivers.use(startReceiver(hang)));
    const channel_ids = [channel.id];
    await Promise.all(
      hanging.flatMap((receiver) =>
        Array.from({ length: each }, () => stage.subscribe(receiver, { channel_ids })),
      ),
    );
    await using listener = await stage.listen({ channel_ids });
    await stage.post(channel, "first");
    for (const receiver of hanging) await receiver.received(each);
    expect(await listener.delivered()).toHaveLength(1);
    for (let nth = 2; nth <= 10; nth++) {
      await stage.post(channel, "later");
      await listener.receiver.received(nth);
    }
    expect(hanging.map(({ requests }) => requests.length)).toEqual(hanging.map(() => each));
  }, 60_000);
});
