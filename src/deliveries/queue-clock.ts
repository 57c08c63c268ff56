import type { Connection, Transaction } from "../database/database.ts";
import { selectNewestEventTime } from "../outbox/event-store.ts";
import { selectAhead, updateAhead } from "../outbox/job-store.ts";
import { selectNewestAttemptTime } from "./store.ts";

/** By so much less, in milliseconds, the machine's clock was not set but corrected, as it is all the time. */
const stepMs = 1_000;

/**
 * The time by which jobs are due. It follows the machine's clock forward and never runs back with it: a job that is due
 * stays due when the clock is set back, and a retry waits for as long as it was told to. How far it is ahead then is kept
 * with the jobs, for the next start.
 */
export class QueueClock {
  /** How far it is ahead of `performance.now()`. */
  #offset: number;

  /** It begins no earlier than what the workspace has seen happen, since the clock may be set back between two starts. */
  constructor(db: Connection) {
    const seen = Math.max(selectNewestEventTime(db), selectNewestAttemptTime(db));
    this.#offset = Math.max(Date.now() + selectAhead(db), seen) - performance.now();
  }

  /** In whole milliseconds since 1970. */
  now(): number {
    const elapsed = performance.now();
    this.#offset = Math.max(this.#offset, Date.now() - elapsed);
    return Math.round(elapsed + this.#offset);
  }

  /** Keeps how far it is ahead of the machine's clock, in the write that puts a job off by it. */
  keep(tx: Transaction, aheadMs: number): void {
    if (Math.abs(aheadMs - selectAhead(tx)) > stepMs) updateAhead(tx, aheadMs);
  }
}
