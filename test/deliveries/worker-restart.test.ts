import { describe, expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { hang, statuses } from "../support/receivers/receiver.ts";
import { envelopeOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** The times of the log lines with this message, in milliseconds since 1970. */
function timesOf(stage: WebhookStage, msg: string): number[] {
  const lines = stage.server.logLines().map((line) => JSON.parse(line) as { msg: string; time: string });
  return lines.filter((line) => line.msg === msg).map(({ time }) => Date.parse(time));
}

describe("after a crash", () => {
  test("what was in flight is sent again within a second of the next start", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "60" });
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    const { receiver, subscription } = listener;
    await stage.prove(channel, subscription);
    const proved = receiver.requests.length;
    receiver.answer = hang;
    for (let count = 0; count < 30; count++) await stage.post(channel, `message ${count}`);
    await receiver.received(proved + 20);
    await stage.server.kill9();

    receiver.answer = statuses(204);
    await stage.server.start();
    const delivered = (await listener.delivered()).slice(proved + 20);
    expect(delivered.map(({ data }) => String(data.body)).toSorted()).toEqual(
      Array.from({ length: 30 }, (_, count) => `message ${count}`).toSorted(),
    );
    const startedAt = timesOf(stage, "server.started").at(-1) ?? Infinity;
    expect(Math.max(...timesOf(stage, "delivery.attempted")) - startedAt).toBeLessThan(1_000);
  });

  test("a scheduled retry is made when it is due and not at startup", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600" });
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id] }, statuses(500, 204));
    const { receiver, subscription } = listener;
    await stage.post(channel, "first");
    await stage.server.logLine(({ msg }) => msg === "delivery.attempted");
    await stage.server.kill9();

    await stage.server.start();
    await stage.post(channel, "second");
    await until("the second one is delivered", async () => (await stage.queued(subscription)) === 1);
    expect(receiver.requests.map((request) => envelopeOf(request).data.body)).toEqual(["first", "second"]);
  });
});

test("events of another process while no server ran are delivered at the next start", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  await stage.stop();
  await stage.workspace.message(channel, stage.team.owner, "meanwhile");
  await stage.restart();
  expect((await listener.delivered()).map(({ data }) => data.body)).toEqual(["meanwhile"]);
});

test("each of many changes that another process makes in quick succession is delivered at once", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  for (let count = 1; count <= 50; count++) {
    await stage.workspace.message(channel, stage.team.owner, `message ${count}`);
    await listener.receiver.received(count);
  }
});
