import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { hang, startReceiver } from "../support/receivers/receiver.ts";
import { requestsFor, subscribeOften } from "../outbox/many-subscriptions.ts";
import { startWebhookStage } from "../support/webhook-stage.ts";
import { CrashCopy } from "./crash-copy.ts";

const many = 1_000;

/** The server is killed after this many jobs: right after the response, and in the middle of queueing. */
const moments = [0, 0, 1, 300, 700];

function count(dataDir: string, table: "jobs" | "attempts" | "fan_outs"): number {
  using file = new SqliteFile(join(dataDir, "parley.db"), { readonly: true });
  return file.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
}

/** Expects a job for each subscription that the cursor has passed, and no others. Returns whether any are left. */
function expectWhole(copy: CrashCopy): boolean {
  expect(copy.damage()).toEqual([]);
  const passed = copy.column(`SELECT subscription_id FROM subscription_filters, fan_outs
    WHERE (subscription_filters.channel_id, subscription_id) <= (after_channel, after_subscription)`);
  const isInProgress = copy.column("SELECT event_seq FROM fan_outs").length === 1;
  const queued = copy.column("SELECT subscription_id FROM jobs");
  expect(queued).toEqual(isInProgress ? passed : copy.column("SELECT id FROM subscriptions"));
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
  await until("so many are queued", () => count(stage.dataDir, "jobs") >= moment);
  await stage.server.kill9();

  using copy = new CrashCopy(stage.dataDir);
  expect(copy.envelopes().filter((envelope) => envelope.includes(id))).toHaveLength(1);
  const isInProgress = expectWhole(copy);

  const before = receiver.requests.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await stage.server.start();
  const isDone = () => count(stage.dataDir, "fan_outs") === 0 && count(stage.dataDir, "attempts") >= many;
  await until("all of it is delivered", isDone, { timeout_ms: 30_000 });
  await stage.stop();
  const requests = receiver.requests.slice(before);
  expect(requestsFor({ requests }, told)).toEqual(told.map(() => 1));
  using end = new CrashCopy(stage.dataDir);
  expect(end.column("SELECT event_seq FROM jobs UNION ALL SELECT event_seq FROM fan_outs")).toEqual([]);
  expect([...end.attempts().values()]).toEqual(told.map(() => 1));
  return isInProgress;
}

test("crashes after the response, while an event is queued for a thousand subscriptions, neither lose nor duplicate it", async () => {
  const wereInProgress: boolean[] = [];
  for (const moment of moments) wereInProgress.push(await crashAt(moment));
  expect(wereInProgress).toContain(true);
}, 120_000);
