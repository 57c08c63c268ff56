import type { Database } from "../database/database.ts";
import { type DatedJob, makeJobDue, selectJobsAfter } from "../outbox/job-store.ts";

/** The number of jobs changed per write, so that other writes wait a few milliseconds at most. */
export const jobsPerWrite = 200;

/** The pause after each such write, as a multiple of its duration: requests and deliveries come first. */
const pauseFactor = 3;

/** The number of jobs read at once. */
const jobsPerRead = 1_000;

/**
 * Makes every job of the subscription due at the time of its event, in small writes, including jobs that failed and
 * wait for a retry: they are then sent in the order of their events.
 */
export async function makeJobsDue(database: Database, subscriptionId: string): Promise<void> {
  let position: { dueAt: number; eventSeq: number } | undefined = { dueAt: 0, eventSeq: 0 };
  while (position) {
    const after = position;
    const page: DatedJob[] = await database.ask((db) =>
      selectJobsAfter(db, subscriptionId, after, jobsPerRead),
    );
    const late = page.filter(({ dueAt, happenedAt }) => dueAt > happenedAt);
    for (let from = 0; from < late.length; from += jobsPerWrite) {
      const batch = late.slice(from, from + jobsPerWrite);
      await withPause(() =>
        database.write((tx) => {
          for (const job of batch) makeJobDue(tx, subscriptionId, job);
        }),
      );
    }
    position = page.at(-1);
  }
}

/** Runs one step of many and pauses after it. */
export async function withPause<Result>(step: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await step();
  await Bun.sleep((performance.now() - startedAt) * pauseFactor);
  return result;
}
