import type { Answer } from "../database/answer.ts";
import type { QueuedJob } from "../outbox/job-store.ts";
import type { DeliveryRecord, Destination } from "../subscriptions/store.ts";

/** What an attempt needs: the job with its event, where it goes, and whether its creator may not see it by now. */
export type Work = { job: QueuedJob; destination: Destination; isWithheld: boolean };

/**
 * One event for one subscription. `eventSeq` is the number of the event, `dueAt` milliseconds since 1970, `read` what an
 * attempt needs, while it is as fresh as the job.
 */
export type Job = { eventSeq: number; dueAt: number; read?: Work | undefined };

/** See `Queue.nextJobs`. */
export type NextJobs = { url?: string; jobs: Job[] };

/** How an attempt ended; `failures` is the length of the failure streak after it. */
export type AttemptResult =
  | { kind: "succeeded"; durationMs: number }
  | { kind: "failed"; durationMs: number; hasTimedOut: boolean; isCounted: boolean; failures: number }
  | { kind: "own_fault" };

/** Where lanes get their jobs and have them attempted. */
export type Queue = {
  /** The clock by which jobs are due, in milliseconds since 1970. */
  now(): number;
  /** Yields to other work for `ms` milliseconds, and for at least one turn of the event loop. */
  rest(ms: number): Promise<void>;
  /**
   * The subscription's next jobs by due time, including those in flight, and the URL where they go; no jobs and no URL
   * while it is disabled.
   */
  nextJobs(subscriptionId: string, limit: number): Answer<NextJobs>;
  /** The subscription's team, URL and delivery history; undefined when it does not exist. */
  deliveryRecord(subscriptionId: string): Answer<DeliveryRecord | undefined>;
  /**
   * Makes one attempt at the job and settles it. It must call `report` as soon as it knows whether the receiver
   * accepted the request; `report` returns whether a failure lengthens the streak. Resolves to undefined when no
   * attempt was made, because the job is gone or must no longer be sent.
   */
  work(
    job: Job & { subscriptionId: string },
    report: (hasSucceeded: boolean) => boolean,
  ): Promise<AttemptResult | undefined>;
};
