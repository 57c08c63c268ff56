import type { Transaction } from "../database/database.ts";
import { deleteJob, selectJob, selectNextJobs } from "../outbox/job-store.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { selectDestination } from "../subscriptions/store.ts";

/** So many jobs are looked at in one write, so that other writes wait a few milliseconds at most. */
const jobsPerWrite = 200;

/**
 * Drops what is due for the subscription and what its creator may not see now: no attempt is logged, and the streak stays
 * as it is. Looks at the next 200 jobs and returns how many it dropped; none while the subscription is disabled.
 */
export async function withhold(tx: Transaction, subscriptionId: string, now: number): Promise<number> {
  if (selectDestination(tx, subscriptionId) === null) return 0;
  const next = await selectNextJobs(tx, subscriptionId, jobsPerWrite);
  const hidden = next.filter(({ dueAt, eventSeq }) => {
    const job = dueAt <= now ? selectJob(tx, { subscriptionId, dueAt, eventSeq }) : undefined;
    return job !== undefined && isWithheld(tx, subscriptionId, job.envelope);
  });
  for (const { dueAt, eventSeq } of hidden) deleteJob(tx, { subscriptionId, dueAt, eventSeq });
  return hidden.length;
}
