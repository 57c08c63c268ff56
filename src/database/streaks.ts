import type { SettledJob } from "./appended.ts";

/** What attempts that are written together change about the failure streak of one subscription. */
export type StreakChange = {
  /** The time of the last success, in milliseconds since 1970; null where all have failed. */
  lastSuccessAt: number | null;
  /** The failures that lengthen the streak since the last success or, where there is none, altogether. */
  failures: number;
  /** All failures that lengthen the streak. */
  allFailures: number;
  /** How long a streak disables the subscription; null where no failure lengthens the streak. */
  disableAfter: number | null;
};

/** Returns the changes by subscription. Attempts are in the order in which they ended. */
export function streakChanges(settled: readonly SettledJob[]): Map<string, StreakChange> {
  const changes = new Map<string, StreakChange>();
  for (const { attempt, job, failure } of settled) {
    if (failure?.disableAfter === null) continue;
    let change = changes.get(job.subscriptionId);
    if (!change) {
      change = { lastSuccessAt: null, failures: 0, allFailures: 0, disableAfter: null };
      changes.set(job.subscriptionId, change);
    }
    if (failure) {
      change.failures++;
      change.allFailures++;
      change.disableAfter = failure.disableAfter;
    } else {
      change.failures = 0;
      change.lastSuccessAt = attempt.createdAt;
    }
  }
  return changes;
}

/** Gives each failure its streak. `before` has the streaks of their subscriptions before the first of these attempts. */
export function takeStreaks(settled: readonly SettledJob[], before: ReadonlyMap<string, number>): void {
  if (before.size === 0) return;
  const streaks = new Map(before);
  for (const { job, failure } of settled) {
    const streak = failure ? (streaks.get(job.subscriptionId) ?? 0) + 1 : 0;
    if (failure?.disableAfter === null) continue;
    streaks.set(job.subscriptionId, streak);
    if (failure) failure.streak = streak;
  }
}
