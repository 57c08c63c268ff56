import type { DeliveryRecord } from "../subscriptions/store.ts";

/** One event for one subscription, under the number of the event. */
export type Job = { eventSeq: number; dueAt: number };

/** How an attempt ended; `failures` is the streak after it. */
export type Ended =
  | { kind: "succeeded"; durationMs: number }
  | { kind: "failed"; durationMs: number; hasTimedOut: boolean; isCounted: boolean; failures: number }
  | { kind: "own_fault" };

/** Where the lanes get their work. */
export type Queue = {
  /** The time by which jobs are due, in milliseconds since 1970. */
  now(): number;
  /** Leaves the program to others: for one turn of the event loop at least, and for so many milliseconds. */
  rest(ms: number): Promise<void>;
  /** The subscription's jobs in the order in which they are due, those under way included; none while it is disabled. */
  nextJobs(subscriptionId: string, limit: number): Promise<Job[]>;
  /** What is on record of the subscription; undefined when there is no such subscription. */
  deliveryRecord(subscriptionId: string): DeliveryRecord | undefined;
  /**
   * One attempt at the job, settled. `hear` is to be called as soon as the receiver is known to have taken it or not, and
   * tells whether its failure lengthens the streak. Undefined when there was none: a job that is gone or must not be sent
   * any more is left as it is.
   */
  work(
    job: Job & { subscriptionId: string },
    hear: (hasSucceeded: boolean) => boolean,
  ): Promise<Ended | undefined>;
};
