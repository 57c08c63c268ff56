import type { Transaction } from "../database/database.ts";
import { deleteJob, type QueuedJob, selectAttemptsMade, updateJob } from "../outbox/job-store.ts";
import { disable } from "../subscriptions/status.ts";
import { updateOnFailure, updateOnSuccess } from "../subscriptions/store.ts";
import type { Outcome } from "./attempt.ts";
import { nextAttemptAt } from "./schedule.ts";
import { type AttemptRow, insertAttempt } from "./store.ts";

export type RetryRules = {
  maxAttempts: number;
  /** Before the second attempt, in milliseconds. */
  backoffBaseMs: number;
  /** So many failed attempts in a row disable the subscription. */
  disableAfter: number;
};

/** What the attempt led to: `failures` is the subscription's streak after it. */
export type Settled = {
  attemptId: string;
  nextAttemptAt: number | undefined;
  isDisabled: boolean;
  failures: number;
};

/** When an attempt ended, in milliseconds since 1970, and how it counts. */
export type Ending = {
  now: number;
  /** How far the clock that jobs are due by is ahead, in milliseconds. */
  aheadMs: number;
  /** Whether a failure lengthens the streak. */
  isCounted: boolean;
};

/**
 * Writes down how an attempt at a job ended, all in one write: the log, the subscription's streak, and what becomes of
 * the job. A job that somebody dropped meanwhile stays dropped (specification part 6, rules 1 and 2).
 */
export function settle(
  tx: Transaction,
  job: QueuedJob,
  outcome: Outcome,
  rules: RetryRules,
  ending: Ending = { now: Date.now(), aheadMs: 0, isCounted: true },
): Settled | Promise<Settled> {
  const attemptId = Bun.randomUUIDv7();
  insertAttempt(tx, { id: attemptId, ...logged(job, outcome, ending.now), isReplay: false });
  if (outcome.kind !== "succeeded") return settleFailure(tx, job, outcome, rules, { ...ending, attemptId });

  updateOnSuccess(tx, job.subscriptionId, ending.now);
  deleteJob(tx, job);
  return { attemptId, nextAttemptAt: undefined, isDisabled: false, failures: 0 };
}

async function settleFailure(
  tx: Transaction,
  job: QueuedJob,
  outcome: Outcome,
  rules: RetryRules,
  { attemptId, isCounted, now, aheadMs }: Ending & { attemptId: string },
): Promise<Settled> {
  const subscription = isCounted ? await updateOnFailure(tx, job.subscriptionId) : undefined;
  const isDisabled =
    subscription?.status === "active" &&
    subscription.deletedAt === null &&
    subscription.consecutiveFailures >= rules.disableAfter;
  if (isDisabled) {
    await disable(tx, subscription, "webhook.auto_disabled", "parley", {
      consecutive_failures: subscription.consecutiveFailures,
      error: outcome.error,
    });
  }

  const next = nextAttemptAt({
    attempt: job.attempts + 1,
    maxAttempts: rules.maxAttempts,
    status: outcome.status,
    retryAfter: outcome.retryAfter,
    now,
    baseMs: rules.backoffBaseMs,
  });
  const isQueued = selectAttemptsMade(tx, job) === job.attempts;
  if (isQueued && next === undefined) deleteJob(tx, job);
  if (isQueued && next !== undefined) updateJob(tx, job, job.attempts + 1, next + aheadMs);
  return {
    attemptId,
    nextAttemptAt: next,
    isDisabled,
    failures: subscription?.consecutiveFailures ?? 0,
  };
}

/** The row of the delivery log, but for its id and whether it is a replay. */
export function logged(
  {
    eventSeq,
    eventId,
    eventType,
    subscriptionId,
  }: Pick<AttemptRow, "eventSeq" | "eventId" | "eventType" | "subscriptionId">,
  outcome: Outcome,
  now: number,
) {
  return {
    subscriptionId,
    eventSeq,
    eventId,
    eventType,
    succeeded: outcome.kind === "succeeded",
    responseStatus: outcome.status,
    responseStart: outcome.responseStart === null ? null : Buffer.from(outcome.responseStart),
    error: outcome.error,
    durationMs: outcome.durationMs,
    createdAt: now,
  };
}
