import type { Connection, Database, Transaction } from "../database/database.ts";
import { selectNewestEventTime } from "../outbox/event-store.ts";
import { selectAhead } from "../outbox/job-store.ts";
import { selectNewestAttemptTime } from "./attempt-store.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/** Smaller differences, in milliseconds, are ordinary clock corrections and are not stored. */
const toleranceMs = 1_000;

/**
 * The clock that decides when jobs are due. It follows the system clock forward, but never back: when that is set back,
 * a job that is due stays due, and a retry waits no longer than scheduled. The lead over the system clock is stored
 * with the jobs, for the next start.
 */
export class QueueClock {
  /** The lead over `performance.now()`, in milliseconds. */
  #offset: number;

  private constructor({ ahead, newest }: ReturnType<typeof selectTimes>) {
    this.#offset = Math.max(workspaceTime() + ahead, newest) - performance.now();
  }

  /**
   * Starts no earlier than the newest event and attempt: the system clock may have been set back between two starts.
   */
  static async start(database: Pick<Database, "ask">): Promise<QueueClock> {
    return new QueueClock(await database.ask(selectTimes));
  }

  /** Returns milliseconds since 1970, an integer that never decreases. */
  now(): number {
    const elapsed = performance.now();
    this.#offset = Math.max(this.#offset, workspaceTime() - elapsed);
    return Math.round(elapsed + this.#offset);
  }

  /** Stores the lead over the system clock, `aheadMs`, in the transaction that schedules a retry by it. */
  keep(tx: Transaction, aheadMs: number): void {
    tx.commit.appended.queueLeads.push({ aheadMs, toleranceMs });
  }
}

function selectTimes(db: Connection): { ahead: number; newest: number } {
  const newest = Math.max(selectNewestEventTime(db), selectNewestAttemptTime(db));
  return { ahead: selectAhead(db), newest };
}
