import { expect, test } from "bun:test";
import type { Outcome } from "../../src/deliveries/attempt.ts";
import { selectLatestAttempts } from "../../src/deliveries/attempt-store.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { selectSubscription } from "../../src/subscriptions/store.ts";
import { engine } from "../support/engine.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

type Step = "success" | "failure";

const ends: Record<Step, Pick<Outcome, "kind" | "status" | "error">> = {
  success: { kind: "succeeded", status: 204, error: null },
  failure: { kind: "rejected", status: 500, error: "the receiver answered 500" },
};
const rules = { maxAttempts: 8, backoffBaseMs: 1_000, disableAfter: 100 };

/** A subscription with jobs that end as a step says; settled again where the same id is given again. */
async function startDeliveries(workspace: Workspace) {
  const { database } = workspace;
  const { id: teamId } = await workspace.team("Acme");
  const subscriptionId = await insertSubscriber(database, teamId, 5);
  return {
    end: async (step: Step, eventSeq: number, attemptId = Bun.randomUUIDv7()) => {
      const job = {
        subscriptionId,
        dueAt: 1,
        eventSeq,
        attempts: 0,
        eventId: Bun.randomUUIDv7(),
        eventType: "message.created" as const,
        envelope: "{}",
        traceparent: null,
      };
      const outcome = { ...ends[step], detail: null, responseStart: null, retryAfter: null, durationMs: 1 };
      const ending = { attemptId, now: eventSeq, aheadMs: 0, isCounted: true };
      return await database.write((tx) => settle(tx, job, outcome, rules, ending));
    },
    subscription: () => database.ask((db) => selectSubscription(db, teamId, subscriptionId)),
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
  const settled = [];
  for (const [place, step] of steps.entries()) {
    const ended = deliveries.end(step, place + 1);
    settled.push(ended);
    // There a success and a failure are never of one commit.
    if (engine === "postgres") await ended;
  }
  const numbers = (await Promise.all(settled)).map(({ logged }) => logged.seq);
  expect(numbers).toEqual(steps.map((_, place) => place + 1));
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
  await deliveries.end("failure", 1, attemptId);
  await deliveries.end("failure", 1, attemptId);
  expect(await deliveries.attempts()).toHaveLength(1);
  expect(await deliveries.subscription()).toMatchObject({ consecutiveFailures: 6 });
});
