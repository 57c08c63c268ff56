import type { Connection } from "../database/database.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { type JobKey, selectJob, selectNextJobs, selectNextQueuedJobs } from "../outbox/job-store.ts";
import { selectDestination } from "../subscriptions/store.ts";
import type { NextJobs, Work } from "./queue.ts";

/** The subscription's next jobs by due time, at most `limit`, and where they go; none while it is not active. */
export function selectNext(db: Connection, subscriptionId: string, limit: number): NextJobs {
  const destination = selectDestination(db, subscriptionId);
  if (!destination) return { jobs: [] };
  const { url } = destination;
  // A file answers so fast that reading ahead would gain nothing. Whether a job is withheld takes look-ups of its own.
  if (db.engine === "sqlite" || db.webhooksVisibility === "creator")
    return { url, jobs: selectNextJobs(db, subscriptionId, limit) };
  const jobs = selectNextQueuedJobs(db, subscriptionId, limit).map((job) => ({
    eventSeq: job.eventSeq,
    dueAt: job.dueAt,
    read: { job, destination, isWithheld: false },
  }));
  return { url, jobs };
}

/** The job and where it goes; undefined when it is gone, or its subscription is not active. */
export function selectWork(db: Connection, key: JobKey): Work | undefined {
  const job = selectJob(db, key);
  const destination = job && selectDestination(db, job.subscriptionId);
  return destination
    ? { job, destination, isWithheld: isWithheld(db, job.subscriptionId, job.envelope) }
    : undefined;
}

/**
 * Returns the jobs, which have just been read, and forgets at the end of this turn of the event loop what was read along
 * with them. An attempt that begins in this turn need not read its job again, which on PostgreSQL saves a round trip
 * between a commit and its delivery; a later one must, since the job may have gone to another server and back.
 */
export function readInThisTurn(next: NextJobs): NextJobs {
  const { jobs } = next;
  if (jobs[0]?.read)
    setImmediate(() => {
      for (const job of jobs) job.read = undefined;
    });
  return next;
}
