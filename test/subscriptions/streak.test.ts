import { expect, test } from "bun:test";
import type { Outcome } from "../../src/deliveries/attempt.ts";
import { selectLatestAttempts } from "../../src/deliveries/attempt-store.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { enqueue } from "../../src/outbox/job-store.ts";
import { selectSubscription } from "../../src/subscriptions/store.ts";
import { jobs } from "../../src/database/schema.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

type Step = "success" | "failure";

const ends: Record<Step, Pick<Outcome, "kind" | "status" | "error">> = {
  success: { kind: "succeeded", status: 204, error: null },
  failure: { kind: "rejected", status: 500, error: "the receiver answered 500" },
};
const rules = { backoffBaseMs: 1_000, disableAfter: 100 };

/**
 * A subscription with jobs that end as a step says; settled again where the same id is given again, and not counted where
 * another attempt has failed at the same time.
 */
async function startDeliveries(workspace: Workspace) {
  const { database } = workspace;
  const { id: teamId } = await workspace.team("Acme");
  const subscriptionId = await insertSubscriber(database, teamId, 5);
  return {
    end: async (
      step: Step,
      eventSeq: number,
      { attemptId = Bun.randomUUIDv7(), attempts = 0, isCounted = true, maxAttempts = 8 } = {},
    ) => {
      const job = {
        subscriptionId,
        dueAt: 1,
        eventSeq,
        attempts,
        eventId: Bun.randomUUIDv7(),
        eventType: "message.created" as const,
        envelope: "{}",
        traceparent: null,
      };
      const outcome = { ...ends[step], detail: null, responseStart: null, retryAfter: null, durationMs: 1 };
      const ending = { attemptId, now: eventSeq, aheadMs: 0, isCounted };
      return await database.write((tx) => settle(tx, job, outcome, { ...rules, maxAttempts }, ending));
    },
    subscription: () => database.ask((db) => selectSubscription(db, teamId, subscriptionId)),
    enqueue: (eventSeq: number) =>
      database.write((tx) => enqueue(tx, { subscriptionId, dueAt: 1, eventSeq })),
    jobs: () => database.ask((db) => db.select().from(jobs).orderBy(jobs.eventSeq)),
    attempts: () => database.ask((db) => selectLatestAttempts(db, subscriptionId, 10)),
  };
}

test.each<[Step[], number]>([
  [["failure", "success"], 0],
  [["success", "failure"], 1],
  [["failure", "success", "failure", "failure"], 2],
  [["success", "failure", "success"], 0],
])("deliveries that finish in one commit count in order: %p", async (steps, failures) => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const deliveries = await startDeliveries(workspace);
  const settled = await Promise.all(steps.map((step, place) => deliveries.end(step, place + 1)));
  expect(settled.map(({ logged }) => logged.seq)).toEqual(steps.map((_, place) => place + 1));
  expect(await deliveries.subscription()).toMatchObject({
    consecutiveFailures: failures,
    lastSuccessAt: steps.lastIndexOf("success") + 1,
  });
});

test("a failure whose commit may have arrived counts once when it is settled again", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const deliveries = await startDeliveries(workspace);
  const attemptId = Bun.randomUUIDv7();
  await deliveries.end("failure", 1, { attemptId });
  await deliveries.end("failure", 1, { attemptId });
  expect(await deliveries.attempts()).toHaveLength(1);
  expect(await deliveries.subscription()).toMatchObject({ consecutiveFailures: 6 });
});

test("deliveries that finish in one commit end their jobs or put them off, each for itself", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const deliveries = await startDeliveries(workspace);
  for (let eventSeq = 1; eventSeq <= 6; eventSeq++) await deliveries.enqueue(eventSeq);
  const settled = await Promise.all([
    deliveries.end("success", 1),
    deliveries.end("failure", 2),
    deliveries.end("failure", 3, { isCounted: false }),
    deliveries.end("failure", 4, { maxAttempts: 1 }),
    // These two jobs have been attempted less often by now: somebody has queued them anew.
    deliveries.end("failure", 5, { attempts: 1 }),
    deliveries.end("failure", 6, { attempts: 1, maxAttempts: 2 }),
    // And this one is gone.
    deliveries.end("failure", 7),
  ]);
  const dueAt = settled.map(({ nextAttemptAt }) => nextAttemptAt);
  expect(dueAt.map((at) => at !== undefined)).toEqual([false, true, true, false, true, false, true]);
  expect(
    (await deliveries.jobs()).map(({ eventSeq, dueAt, attempts }) => [eventSeq, dueAt, attempts]),
  ).toEqual([
    [2, dueAt[1] ?? 0, 1],
    [3, dueAt[2] ?? 0, 1],
    [5, 1, 0],
    [6, 1, 0],
  ]);
  expect(await deliveries.attempts()).toHaveLength(7);
  expect(settled.map(({ logged }) => logged.failure?.streak)).toEqual([undefined, 1, 0, 2, 3, 4, 5]);
  expect(await deliveries.subscription()).toMatchObject({ consecutiveFailures: 5, lastSuccessAt: 1 });
});
