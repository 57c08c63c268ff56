import type { Connection } from "../database/database.ts";
import { selectAhead, selectFirstWaiting, selectNextJobs } from "../outbox/job-store.ts";
import { selectSubscriptions, type SubscriptionRow } from "../subscriptions/store.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { timestamp } from "../timestamp.ts";
import { type LoggedAttempt, selectAttemptsBack } from "./attempt-search-store.ts";

/** How a subscription does, named as in JSON. */
export type SubscriptionHealth = {
  /** Since when every attempt has failed; null when the last one succeeded, or there was none. */
  failing_since: string | null;
  /** How many attempts failed since then; `is_more` when the log that was read begins with a failure. */
  failures: { count: number; is_more: boolean };
  /** Why the last attempt failed; null if it succeeded. */
  last_error: string | null;
  /** How many events wait; `is_more` when there are more than 10,000. */
  waiting: { count: number; is_more: boolean };
  /** When the next attempt is or was due; null while nothing waits or the subscription is disabled. */
  next_due_at: string | null;
  /** Until when the secret before the last rotation signs too; null when it does not. */
  old_secret_until: string | null;
  /** When the receiver's certificate ends, as seen at the last delivery over TLS; null without one. */
  certificate_ends_at: string | null;
  /** The last 24 hours, replays left out: `is_sample` when only the latest attempts were read. */
  day: {
    attempts: number;
    succeeded: number;
    p50_ms: number | null;
    p95_ms: number | null;
    is_sample: boolean;
    /** The attempts of each hour, the last hour last. */
    hours: number[];
  };
};

const hourMs = 3_600_000;
const hours = 24;
const waitingMax = 10_000;

/** How many of the latest attempts of each subscription are read for a list of them, and for one alone. */
const readOfEach = 200;
const readOfOne = 10_000;

/** How each of the team's subscriptions does at the time `now`, by its id. */
export async function healthOfTeam(
  db: Connection,
  teamId: string,
  now: number,
): Promise<Map<string, SubscriptionHealth>> {
  const found = new Map<string, SubscriptionHealth>();
  for (const row of await selectSubscriptions(db, teamId))
    found.set(row.id, await healthOf(db, row, { now, readMax: readOfEach }));
  return found;
}

/**
 * How the team's subscription does at the time `now`.
 * @throws DomainError `not_found` when the team has no such subscription.
 */
export async function healthOfSubscription(
  db: Connection,
  teamId: string,
  id: string,
  now: number,
): Promise<SubscriptionHealth> {
  return await healthOf(db, await getSubscription(db, teamId, id), { now, readMax: readOfOne });
}

/** Reads how the subscription does at the time `now`, from its `readMax` latest attempts at most. */
async function healthOf(
  db: Connection,
  row: Pick<SubscriptionRow, "id" | "status" | "previousSecretUntil" | "certificateEndsAt">,
  { now, readMax }: { now: number; readMax: number },
): Promise<SubscriptionHealth> {
  const all = { subscriptionId: row.id, before: Number.MAX_SAFE_INTEGER, after: 0 };
  const read = await selectAttemptsBack(db, all, readMax);
  const attempts = read.filter(({ isReplay }) => !isReplay);
  const streak = attempts.findIndex(({ succeeded }) => succeeded);
  const failed = streak < 0 ? attempts : attempts.slice(0, streak);
  const waiting = selectFirstWaiting(db, row.id, waitingMax + 1).count;
  const [next] = row.status === "active" ? selectNextJobs(db, row.id, 1) : [];
  const until = row.previousSecretUntil ?? 0;
  return {
    failing_since: timestamp(failed.at(-1)?.createdAt ?? null),
    failures: { count: failed.length, is_more: streak < 0 && read.length === readMax },
    last_error: failed[0]?.error ?? null,
    waiting: { count: Math.min(waiting, waitingMax), is_more: waiting > waitingMax },
    next_due_at: timestamp(next ? next.dueAt - selectAhead(db) : null),
    old_secret_until: timestamp(until > now ? until : null),
    certificate_ends_at: timestamp(row.certificateEndsAt),
    day: dayOf(attempts, now, read.length === readMax),
  };
}

function dayOf(attempts: readonly LoggedAttempt[], now: number, isCut: boolean): SubscriptionHealth["day"] {
  const begin = now - hours * hourMs;
  const recent = attempts.filter(({ createdAt }) => createdAt >= begin);
  const durations = recent.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const perHour = Array.from({ length: hours }, () => 0);
  for (const { createdAt } of recent) {
    const hour = Math.min(hours - 1, Math.floor((createdAt - begin) / hourMs));
    perHour[hour] = (perHour[hour] ?? 0) + 1;
  }
  return {
    attempts: recent.length,
    succeeded: recent.filter(({ succeeded }) => succeeded).length,
    p50_ms: quantile(durations, 0.5),
    p95_ms: quantile(durations, 0.95),
    is_sample: isCut && recent.length === attempts.length,
    hours: perHour,
  };
}

/** The smallest value that the share of the sorted values does not exceed; null without values. */
function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
