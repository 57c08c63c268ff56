import type { Reading } from "../database/open.ts";
import { selectNewestEventTime } from "../events/store.ts";
import { selectNewestAttemptTime } from "./store.ts";

/**
 * The time by which jobs are due. It follows the machine's clock forward and never runs back with it: a job that is due
 * stays due when the clock is set back, and a retry waits for as long as it was told to.
 */
export class QueueClock {
  /** How far it is ahead of `performance.now()`. */
  #offset: number;

  /** It begins no earlier than what the workspace has seen happen, since the clock may be set back between two starts. */
  constructor(db: Reading) {
    const seen = Math.max(selectNewestEventTime(db), selectNewestAttemptTime(db));
    this.#offset = Math.max(Date.now(), seen) - performance.now();
  }

  /** In whole milliseconds since 1970. */
  now(): number {
    const elapsed = performance.now();
    this.#offset = Math.max(this.#offset, Date.now() - elapsed);
    return Math.round(elapsed + this.#offset);
  }
}
