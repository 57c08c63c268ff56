import type { Transaction } from "../database/database.ts";
import { deleteJob, selectJob, selectNextJobs } from "../outbox/job-store.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { selectDestination } from "../subscriptions/store.ts";

/** How many jobs one write checks, so that other writes wait for a few milliseconds at most. */
const jobsPerWrite = 200;

/**
 * Deletes the subscription's due jobs whose events its creator may not see now (`WEBHOOKS_VISIBILITY=creator`). No
 * attempt is logged, and the failure streak does not change. Checks the next 200 jobs and returns how many it deleted;
 * 0 while the subscription is disabled. `now` is the time of `QueueClock`.
 */
export function withhold(tx: Transaction, subscriptionId: string, now: number): number {
  if (selectDestination(tx, subscriptionId) === null) return 0;
  const next = selectNextJobs(tx, subscriptionId, jobsPerWrite);
  const hidden = next.filter(({ dueAt, eventSeq }) => {
    const job = dueAt <= now ? selectJob(tx, { subscriptionId, dueAt, eventSeq }) : undefined;
    return job !== undefined && isWithheld(tx, subscriptionId, job.envelope);
  });
  for (const { dueAt, eventSeq } of hidden) deleteJob(tx, { subscriptionId, dueAt, eventSeq });
  return hidden.length;
}
