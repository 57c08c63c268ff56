import type { Database, Writing } from "../database/open.ts";
import { deleteEvents, selectOldEvents } from "../events/store.ts";
import { deleteJobs, selectQueuedEventIds } from "../jobs/store.ts";
import type { Log } from "../log.ts";
import { selectDeletedSubscriptionIds } from "../subscriptions/store.ts";
import { deleteAttempts, selectLoggedEventIds, selectOldestAttempts } from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** So many rows go in one write: a few milliseconds, so that nobody who writes has to wait for longer. */
const rowsPerWrite = 200;

/** After each write it rests for so many times as long as that took: writers come first. */
const restFactor = 3;

/**
 * Deletes what is past its time: attempts older than the given days, oldest first, then the events that no attempt and
 * no job refers to any more, and what was left waiting for deleted subscriptions. 0 days keeps every attempt.
 */
export class Retention {
  readonly #database: Database;
  readonly #days: number;
  readonly #log: Log;
  #isStopped = false;
  #timer: Timer | undefined;
  #run: Promise<void> = Promise.resolve();

  constructor(database: Database, days: number, log: Log) {
    this.#database = database;
    this.#days = days;
    this.#log = log;
  }

  /** Runs now and then every day. */
  start(): void {
    this.#run = this.sweep().catch((error: unknown) => this.#log.error({ err: error }, "retention.failed"));
    this.#timer = setTimeout(() => this.start(), dayMs);
  }

  /** Ends after the write under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#run;
  }

  /** One run over everything. */
  async sweep(now = Date.now()): Promise<void> {
    const jobs = await this.#dropJobsOfDeleted();
    if (this.#days === 0) return this.#log.info({ jobs }, "retention.swept");
    const cutoff = now - this.#days * dayMs;
    const attempts = await this.#repeat((tx) => deleteOldAttempts(tx, cutoff));
    const events = await this.#dropEvents(cutoff);
    this.#log.info({ jobs, attempts, events }, "retention.swept");
  }

  async #dropJobsOfDeleted(): Promise<number> {
    let dropped = 0;
    for (const id of await selectDeletedSubscriptionIds(this.#database.read)) {
      dropped += await this.#repeat((tx) => deleteJobs(tx, id, rowsPerWrite));
    }
    return dropped;
  }

  async #dropEvents(cutoff: number): Promise<number> {
    // An event that must stay, for a job that waits, is passed over for good: the place moves on behind it.
    let place = 0;
    let dropped = 0;
    await this.#repeat(async (tx) => {
      const old = await selectOldEvents(tx, { after: place, before: cutoff, limit: rowsPerWrite });
      place = old.at(-1)?.seq ?? place;
      const ids = old.map(({ id }) => id);
      const needed = new Set([
        ...(await selectLoggedEventIds(tx, ids)),
        ...(await selectQueuedEventIds(tx, ids)),
      ]);
      const doomed = ids.filter((id) => !needed.has(id));
      await deleteEvents(tx, doomed);
      dropped += doomed.length;
      return old.length;
    });
    return dropped;
  }

  /** Writes until a write finds less than a whole batch to do; returns how many rows that came to. */
  async #repeat(step: (tx: Writing) => Promise<number>): Promise<number> {
    let total = 0;
    for (let rows = rowsPerWrite; rows === rowsPerWrite && !this.#isStopped;) {
      const startedAt = performance.now();
      rows = await this.#database.write(step);
      total += rows;
      await Bun.sleep((performance.now() - startedAt) * restFactor);
    }
    return total;
  }
}

async function deleteOldAttempts(tx: Writing, cutoff: number): Promise<number> {
  // The log is in the order of time, so the old ones are at its front: but for a clock that was wrong for a while.
  const oldest = await selectOldestAttempts(tx, rowsPerWrite);
  const old = oldest.filter(({ createdAt }) => createdAt < cutoff);
  await deleteAttempts(
    tx,
    old.map(({ seq }) => seq),
  );
  return old.length;
}
