import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { until } from "../support/conditions.ts";
import { hang, statuses } from "../support/receivers/receiver.ts";
import { envelopeOf, startWebhookStage } from "../support/webhook-stage.ts";

/** How long a stop waits for deliveries in flight. */
const stopWaitMs = 10_000;

describe("a server that is stopped", () => {
  test("lets the deliveries in flight finish, logs them, and starts no others", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    const { receiver, subscription } = listener;
    await stage.prove(channel, subscription);
    const proved = receiver.requests.length;
    receiver.answer = async () => {
      await mayAnswer;
      return new Response(null, { status: 204 });
    };
    for (let count = 0; count < 30; count++) await stage.post(channel, `message ${count}`);
    await receiver.received(proved + 20);

    const stopped = stage.stop();
    await until("it takes no new connection", () =>
      fetch(stage.server.url).then(
        () => false,
        () => true,
      ),
    );
    letAnswer();
    await stopped;
    expect(receiver.requests).toHaveLength(proved + 20);
    expect(await stage.queued(subscription)).toBe(10);

    await stage.restart();
    await listener.delivered();
    expect(new Set(receiver.requests.map((request) => envelopeOf(request).id)).size).toBe(proved + 30);
    expect(receiver.requests).toHaveLength(proved + 30);
    expect((await stage.shown(subscription)).consecutive_failures).toBe(0);
  });

  test("gives up on a receiver that hangs after ten seconds, and sends that event again after the next start", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "300" });
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id] }, hang);
    const { receiver } = listener;
    await stage.post(channel);
    await receiver.received(1);
    // A client that holds its connection open as well changes nothing.
    const { hostname, port } = new URL(stage.server.url);
    const client = connect(Number(port), hostname);
    client.on("error", () => {});

    const startedAt = performance.now();
    await stage.stop();
    expect(performance.now() - startedAt).toBeWithin(stopWaitMs - 100, stopWaitMs + 2_000);
    client.destroy();

    receiver.answer = statuses(204);
    await stage.restart();
    const [first, second] = await listener.delivered();
    expect(second).toEqual(first);
  }, 60_000);
});
