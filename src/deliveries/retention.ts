import type { Database, Reading, Writing } from "../database/open.ts";
import { deleteEvents, selectEventSeqs } from "../events/store.ts";
import { deleteJobs, selectQueuedEvents } from "../jobs/store.ts";
import type { Log } from "../log.ts";
import {
  deleteSubscriptions,
  selectDeletedSubscriptionIds,
  selectForgottenSubscriptionIds,
} from "../subscriptions/store.ts";
import { deleteAttemptsBefore, selectLoggedEvents } from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** So many rows go in one step: a few milliseconds, so that nobody who writes has to wait for longer. */
const rowsPerStep = 200;

/** After each step it rests for so many times as long as that took: writers come first. */
const restFactor = 3;

/**
 * Deletes what is past its time: what was left waiting for deleted subscriptions, attempts older than the given days,
 * the events that no attempt and no job refers to any more, and the deleted subscriptions of which nothing tells any
 * more, with their secrets. 0 days keep every attempt, and with them what they refer to.
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
    const attempts = this.#days === 0 ? 0 : await this.#dropAttempts(now - this.#days * dayMs);
    const events = await this.#dropEvents();
    // A day later nothing that was under way for one can still be written down.
    const subscriptions = await this.#dropSubscriptions(now - dayMs);
    this.#log.info({ jobs, attempts, events, subscriptions }, "retention.swept");
  }

  async #dropJobsOfDeleted(): Promise<number> {
    let dropped = 0;
    for (const id of await selectDeletedSubscriptionIds(this.#database.read)) {
      dropped += await this.#repeat((tx) => deleteJobs(tx, id, rowsPerStep));
    }
    return dropped;
  }

  async #dropAttempts(before: number): Promise<number> {
    return await this.#repeat((tx) => deleteAttemptsBefore(tx, before, rowsPerStep));
  }

  /** Goes through all events once: which of them are needed does not show in their age. */
  async #dropEvents(): Promise<number> {
    let dropped = 0;
    let place: number | undefined = 0;
    while (place !== undefined && !this.#isStopped) {
      const after: number = place;
      place = await this.#paced(async () => {
        const page = await selectEventSeqs(this.#database.read, { after, limit: rowsPerStep });
        if (page.length > 0 && (await unneeded(this.#database.read, page)).length > 0) {
          dropped += await this.#database.write(async (tx) => {
            const doomed = await unneeded(tx, page);
            await deleteEvents(tx, doomed);
            return doomed.length;
          });
        }
        return page.at(-1);
      });
    }
    return dropped;
  }

  async #dropSubscriptions(before: number): Promise<number> {
    return await this.#repeat(async (tx) => {
      const ids = await selectForgottenSubscriptionIds(tx, before, rowsPerStep);
      if (ids.length > 0) await deleteSubscriptions(tx, ids);
      return ids.length;
    });
  }

  /** Writes until a write finds less than a whole step to do; returns how many rows that came to. */
  async #repeat(step: (tx: Writing) => Promise<number>): Promise<number> {
    let total = 0;
    for (let rows = rowsPerStep; rows === rowsPerStep && !this.#isStopped;) {
      rows = await this.#paced(() => this.#database.write(step));
      total += rows;
    }
    return total;
  }

  async #paced<Result>(step: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await step();
    await Bun.sleep((performance.now() - startedAt) * restFactor);
    return result;
  }
}

/** Those of the events that no attempt and no job refers to. */
async function unneeded(db: Reading, events: number[]): Promise<number[]> {
  const needed = new Set([
    ...(await selectLoggedEvents(db, events)),
    ...(await selectQueuedEvents(db, events)),
  ]);
  return events.filter((seq) => !needed.has(seq));
}
