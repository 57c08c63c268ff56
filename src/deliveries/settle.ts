import type { Transaction } from "../database/database.ts";
import { deleteJob, type QueuedJob, selectAttemptsMade, updateJob } from "../outbox/job-store.ts";
import { disable } from "../subscriptions/status.ts";
import { updateOnFailure } from "../subscriptions/store.ts";
import type { Outcome } from "./attempt.ts";
import { nextAttemptAt } from "./schedule.ts";
import { type AttemptRow, insertAttempt } from "./attempt-store.ts";
import { newId, now } from "../system/repeatable.ts";

/** When to retry, and when to give up. */
export type RetryRules = {
  /** Per event (`WEBHOOKS_MAX_ATTEMPTS`). */
  maxAttempts: number;
  /** The wait before the second attempt, in milliseconds (`WEBHOOKS_BACKOFF_BASE`). */
  backoffBaseMs: number;
  /** This many failed attempts in a row disable the subscription (`WEBHOOKS_DISABLE_AFTER`). */
  disableAfter: number;
};

/** The consequences of an attempt; `failures` is the length of the subscription's failure streak after it. */
export type Settled = {
  attemptId: string;
  /** Has the attempt's number in the delivery log, after the commit. */
  logged: { readonly seq: number };
  /** By the system clock, in milliseconds since 1970; undefined when there is no retry. */
  nextAttemptAt: number | undefined;
  isDisabled: boolean;
  failures: number;
};

/** When an attempt ended and how it counts. */
export type Ending = {
  /** The attempt's id in the delivery log: the same when it is settled again, since the first commit may have arrived. */
  attemptId: string;
  /** By the system clock, in milliseconds since 1970. */
  now: number;
  /** The lead of `QueueClock`, by which jobs are due, over the system clock, in milliseconds. */
  aheadMs: number;
  /** Whether a failure lengthens the streak. */
  isCounted: boolean;
};

/**
 * Records how an attempt at a job ended, in the caller's transaction: the delivery log, the subscription's failure
 * streak, and the job, which is deleted or scheduled again (specification part 6, rules 1 and 2). A job that was
 * deleted meanwhile stays deleted. Returns a promise only after a failure: successes settle without one, which costs
 * less.
 */
export function settle(
  tx: Transaction,
  job: QueuedJob,
  outcome: Outcome,
  rules: RetryRules,
  ending: Ending = { attemptId: newId(), now: now(), aheadMs: 0, isCounted: true },
): Settled | Promise<Settled> {
  const { attemptId } = ending;
  const attempt = { id: attemptId, ...logEntry(job, outcome, ending.now), isReplay: false };
  if (outcome.kind !== "succeeded") {
    const logged = { seq: insertAttempt(tx, attempt) };
    return settleFailure(tx, job, outcome, rules, { ...ending, logged });
  }
  const settled = { attempt, seq: 0, job };
  tx.commit.appended.settled.push(settled);
  return { attemptId, logged: settled, nextAttemptAt: undefined, isDisabled: false, failures: 0 };
}

async function settleFailure(
  tx: Transaction,
  job: QueuedJob,
  outcome: Outcome,
  rules: RetryRules,
  { attemptId, logged, isCounted, now, aheadMs }: Ending & Pick<Settled, "logged">,
): Promise<Settled> {
  const isNew = logged.seq > 0;
  const subscription = isNew && isCounted ? await updateOnFailure(tx, job.subscriptionId) : undefined;
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
  const isQueued = isNew && selectAttemptsMade(tx, job) === job.attempts;
  if (isQueued && next === undefined) deleteJob(tx, job);
  if (isQueued && next !== undefined) updateJob(tx, job, job.attempts + 1, next + aheadMs);
  return {
    attemptId,
    logged,
    nextAttemptAt: next,
    isDisabled,
    failures: subscription?.consecutiveFailures ?? 0,
  };
}

/** Returns the row of the delivery log, without its id and `isReplay`. `now` is milliseconds since 1970. */
export function logEntry(
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
