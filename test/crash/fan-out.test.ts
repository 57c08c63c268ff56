import { expect, test } from "bun:test";
import { countOf } from "../support/data.ts";
import { until } from "../support/conditions.ts";
import { hang, startReceiver } from "../support/receivers/receiver.ts";
import { requestsFor, subscribeOften } from "../outbox/many-subscriptions.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { copyAfterCrash, type CrashCopy } from "./crash-copy.ts";

const many = 1_000;

/** The server is killed after this many jobs: right after the response, and in the middle of queueing. */
const moments = [0, 0, 1, 300, 700];

/** Expects a job for each subscription that the cursor has passed, and no others. Returns whether any are left. */
async function expectWhole(copy: CrashCopy): Promise<boolean> {
  expect(await copy.damage()).toEqual([]);
  const passed = await copy.column(`SELECT subscription_id FROM subscription_filters, fan_outs
    WHERE (subscription_filters.channel_id, subscription_id) <= (after_channel, after_subscription)`);
  const isInProgress = (await copy.column("SELECT event_seq FROM fan_outs")).length === 1;
  const queued = await copy.column("SELECT subscription_id FROM jobs");
  expect(queued).toEqual(isInProgress ? passed : await copy.column("SELECT id FROM subscriptions"));
  return isInProgress;
}

/**
 * Posts to a thousand, crashes when this many are queued, and restarts. Returns whether some were still to be queued.
 */
async function crashAt(moment: number): Promise<boolean> {
  await using stage = await startWebhookStage({ WEBHOOKS_TIMEOUT: "300" });
  // No receiver responds, so nothing leaves the queue before the crash.
  await using receiver = startReceiver(hang);
  const told = await subscribeOften(stage, receiver, many);
  const { id } = await stage.post(stage.team.general);
  await until("so many are queued", async () => (await countOf(stage.dataDir, "jobs")) >= moment);
  await stage.server.kill9();

  using copy = await copyAfterCrash(stage.dataDir);
  expect((await copy.envelopes()).filter((envelope) => envelope.includes(id))).toHaveLength(1);
  const isInProgress = await expectWhole(copy);

  const before = receiver.requests.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await stage.server.start();
  const isDone = async () =>
    (await countOf(stage.dataDir, "fan_outs")) === 0 && (await countOf(stage.dataDir, "attempts")) >= many;
  await until("all of it is delivered", isDone);
  await stage.stop();
  const requests = receiver.requests.slice(before);
  expect(requestsFor({ requests }, told)).toEqual(told.map(() => 1));
  using end = await copyAfterCrash(stage.dataDir);
  expect(await end.column("SELECT event_seq FROM jobs UNION ALL SELECT event_seq FROM fan_outs")).toEqual([]);
  expect([...(await end.attempts()).values()]).toEqual(told.map(() => 1));
  return isInProgress;
}

test("crashes after the response, while an event is queued for a thousand subscriptions, neither lose nor duplicate it", async () => {
  const wereInProgress: boolean[] = [];
  for (const moment of moments) wereInProgress.push(await crashAt(moment));
  expect(wereInProgress).toContain(true);
}, 120_000);
