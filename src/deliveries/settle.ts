import type { Transaction } from "../database/database.ts";
import type { Failure, SettledJob } from "../database/appended.ts";
import type { QueuedJob } from "../outbox/job-store.ts";
import { disable } from "../subscriptions/status.ts";
import { selectStreakOfActive, selectSubscriptionById } from "../subscriptions/store.ts";
import type { Outcome } from "./attempt.ts";
import { nextAttemptAt } from "./schedule.ts";
import { type AttemptRow, isLogged } from "./attempt-store.ts";
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

/** The consequences of an attempt. */
export type Settled = {
  attemptId: string;
  /** What is known once it is written, which is after the commit at the latest. */
  logged: {
    /** The attempt's number in the delivery log; 0 if it was there before. */
    readonly seq: number;
    /** A failure that lengthens the subscription's streak has the length after it. */
    readonly failure: Readonly<Pick<Failure, "streak">> | undefined;
  };
  /** By the system clock, in milliseconds since 1970; undefined when there is no retry. */
  nextAttemptAt: number | undefined;
  isDisabled: boolean;
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
 * deleted meanwhile stays deleted. All of this is put down as data; only the disabling of the subscription takes
 * statements, and a promise.
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
  const { presumesNoneDisables, appended } = tx.commit;
  const next = outcome.kind === "succeeded" ? undefined : nextAttempt(job, outcome, rules, ending);
  const failure = outcome.kind === "succeeded" ? undefined : failureOf(job, rules, ending, next);
  const logged = { attempt, seq: 0, job, failure };
  const settled = { attemptId, logged, nextAttemptAt: next, isDisabled: false };
  if (failure && !presumesNoneDisables && isLogged(tx, attemptId)) return settled;
  appended.settled.push(logged);
  if (!failure || !ending.isCounted || presumesNoneDisables) return settled;
  const streak = selectStreakOfActive(tx, job.subscriptionId);
  return streak < rules.disableAfter ? settled : disableForStreak(tx, streak, outcome, settled);
}

/** When to retry after the failure, in milliseconds since 1970; undefined after the last attempt. */
function nextAttempt(
  { attempts }: QueuedJob,
  { status, retryAfter }: Outcome,
  { maxAttempts, backoffBaseMs: baseMs }: RetryRules,
  { now }: Ending,
): number | undefined {
  return nextAttemptAt({ attempt: attempts + 1, maxAttempts, status, retryAfter, now, baseMs });
}

function failureOf(
  { attempts }: QueuedJob,
  { disableAfter }: RetryRules,
  { isCounted, aheadMs }: Ending,
  next: number | undefined,
): Failure {
  return {
    attemptsBefore: attempts,
    nextDueAt: next === undefined ? null : next + aheadMs,
    disableAfter: isCounted ? disableAfter : null,
    streak: 0,
  };
}

async function disableForStreak(
  tx: Transaction,
  streak: number,
  { error }: Outcome,
  settled: Settled & { logged: Pick<SettledJob, "job"> },
): Promise<Settled> {
  const subscription = await selectSubscriptionById(tx, settled.logged.job.subscriptionId);
  const details = { consecutive_failures: streak, error };
  if (subscription) await disable(tx, subscription, "webhook.auto_disabled", "parley", details);
  return { ...settled, isDisabled: true };
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
