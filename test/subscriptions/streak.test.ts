import { expect, test } from "bun:test";
import type { Outcome } from "../../src/deliveries/attempt.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { selectSubscription } from "../../src/subscriptions/store.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

type Step = "success" | "failure";

const ends: Record<Step, Pick<Outcome, "kind" | "status" | "error">> = {
  success: { kind: "succeeded", status: 204, error: null },
  failure: { kind: "rejected", status: 500, error: "the receiver answered 500" },
};
const rules = { maxAttempts: 8, backoffBaseMs: 1_000, disableAfter: 100 };

test.each<[Step[], number]>([
  [["failure", "success"], 0],
  [["success", "failure"], 1],
  [["failure", "success", "failure", "failure"], 2],
  [["success", "failure", "success"], 0],
])("deliveries that finish in one commit count in order: %p", async (steps, failures) => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const { id: teamId } = await workspace.team("Acme");
  const id = await insertSubscriber(database, teamId, 5);
  const job = {
    subscriptionId: id,
    dueAt: 1,
    eventSeq: 1,
    attempts: 0,
    eventId: Bun.randomUUIDv7(),
    eventType: "message.created" as const,
    envelope: "{}",
    traceparent: null,
  };
  const end = async (step: Step, now: number) => {
    const outcome = { ...ends[step], detail: null, responseStart: null, retryAfter: null, durationMs: 1 };
    const ending = { now, aheadMs: 0, isCounted: true };
    return await database.write((tx) => settle(tx, job, outcome, rules, ending));
  };
  const settled = await Promise.all(steps.map((step, place) => end(step, place + 1)));
  expect(settled.map(({ logged }) => logged.seq)).toEqual(steps.map((_, place) => place + 1));
  expect(await database.ask((db) => selectSubscription(db, teamId, id))).toMatchObject({
    consecutiveFailures: failures,
    lastSuccessAt: steps.lastIndexOf("success") + 1,
  });
});
