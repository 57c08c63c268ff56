import type { Database, Connection, Transaction } from "../database/database.ts";
import { deleteEvents, selectEventSeqs, selectEventTime, selectLastEventSeq } from "../outbox/event-store.ts";
import { beforeFanOuts, deleteFanOut, type FanOutKey, selectFanOutsAfter } from "../outbox/fan-out-store.ts";
import {
  deleteJobs,
  deleteJobsBefore,
  endOfQueue,
  type JobKey,
  selectJobsBackwards,
} from "../outbox/job-store.ts";
import type { Log } from "../log/log.ts";
import {
  deleteSubscriptions,
  selectDeletedSubscriptionIds,
  selectDestination,
  selectDisabledSubscriptionIds,
  selectForgottenSubscriptionIds,
} from "../subscriptions/store.ts";
import { NumberSet, numbersMax } from "./number-set.ts";
import { deleteAttemptsBefore, selectLoggedEvents } from "./store.ts";
import { Throttle } from "./throttle.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** So many rows go in one step: a few milliseconds, so that nobody who writes has to wait for longer. */
const rowsPerStep = 200;

/** After each step it rests for so many times as long as that took: requests and deliveries come first. */
const restFactor = 9;

/** It rests for no longer than this, in milliseconds. */
const restMaxMs = 10_000;

/**
 * Deletes what is past its time: what was left waiting for deleted subscriptions, what waits for disabled ones and
 * attempts older than the given days,
 * the events that no attempt and no job refers to any more, and the deleted subscriptions of which nothing tells any
 * more, with their secrets. 0 days keep every attempt, and with them what they refer to.
 */
export class Retention {
  readonly #database: Database;
  readonly #days: number;
  readonly #log: Log;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #timer: Timer | undefined;
  #run: Promise<void> = Promise.resolve();

  constructor(database: Database, days: number, log: Log) {
    this.#database = database;
    this.#days = days;
    this.#log = log;
  }

  /** Runs now, and again a day after the end of each run. */
  start(): void {
    this.#run = this.sweep()
      .catch((error: unknown) => this.#log.error({ err: error }, "retention.failed"))
      .then(() => {
        if (!this.#throttle.isStopped) this.#timer = setTimeout(() => this.start(), dayMs);
      });
  }

  /** Ends after the write under way, and does not wait for the end of a rest. */
  async stop(): Promise<void> {
    this.#throttle.stop();
    clearTimeout(this.#timer);
    await this.#run;
  }

  /** One run over everything. */
  async sweep(now = Date.now()): Promise<void> {
    const jobs = (await this.#dropJobsOfDeleted()) + (await this.#dropJobsOfDisabled(now));
    const attempts = this.#days === 0 ? 0 : await this.#dropAttempts(now - this.#days * dayMs);
    const events = await this.#dropEvents();
    await this.#dropFanOuts();
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

  /** What waits for a disabled subscription waits for as long as attempts are kept. */
  async #dropJobsOfDisabled(now: number): Promise<number> {
    if (this.#days === 0) return 0;
    const before = now - this.#days * dayMs;
    let dropped = 0;
    for (const id of await selectDisabledSubscriptionIds(this.#database.read)) {
      // Somebody may have enabled it since, who was told what waits.
      dropped += await this.#repeat(async (tx) =>
        selectDestination(tx, id) === null ? await deleteJobsBefore(tx, id, before, rowsPerStep) : 0,
      );
    }
    return dropped;
  }

  async #dropAttempts(before: number): Promise<number> {
    return await this.#repeat((tx) => deleteAttemptsBefore(tx, before, rowsPerStep));
  }

  /** Goes through all events once: which of them are needed does not show in their age. */
  async #dropEvents(): Promise<number> {
    let dropped = 0;
    const newest = await selectLastEventSeq(this.#database.read);
    for (let after = 0; after < newest && !this.#throttle.isStopped;) {
      const [first] = await selectEventSeqs(this.#database.read, { after, limit: 1 });
      if (first === undefined) break;
      const last = Math.min(newest, first + numbersMax - 1);
      dropped += await this.#dropEventsAmong(first, last);
      after = last;
    }
    return dropped;
  }

  async #dropEventsAmong(first: number, last: number): Promise<number> {
    const waiting = await this.#waitingAmong(first, last);
    let dropped = 0;
    for (let after: number | undefined = first - 1; after !== undefined && !this.#throttle.isStopped;) {
      const range = { after, last, limit: rowsPerStep };
      after = await this.#throttle.step(async () => {
        const page = await selectEventSeqs(this.#database.read, range);
        const quiet = page.filter((seq) => !waiting.has(seq));
        if ((await unlogged(this.#database.read, quiet)).length > 0) {
          dropped += await this.#database.write(async (tx) => {
            const doomed = await unlogged(tx, quiet);
            await deleteEvents(tx, doomed);
            return doomed.length;
          });
        }
        return page.at(-1);
      });
    }
    return dropped;
  }

  /**
   * Which of these events are queued for somebody, or still to be. Those come first: what is queued for all meanwhile is
   * found in the queue. That is read from its end, so that none is missed while it goes on working: what is made due earlier
   * meanwhile is still to come, and what is put off has just been logged.
   */
  async #waitingAmong(first: number, last: number): Promise<NumberSet> {
    const waiting = new NumberSet(first, last);
    await this.#addFanOuts(waiting);
    for (let place: JobKey | undefined = endOfQueue; place && !this.#throttle.isStopped;) {
      const before: JobKey = place;
      place = await this.#throttle.step(async () => {
        const page = selectJobsBackwards(this.#database.read, before, rowsPerStep);
        for (const { eventSeq } of page) waiting.add(eventSeq);
        return page.at(-1);
      });
    }
    return waiting;
  }

  async #addFanOuts(waiting: NumberSet): Promise<void> {
    for (let place: FanOutKey | undefined = beforeFanOuts; place && !this.#throttle.isStopped;) {
      const after: FanOutKey = place;
      place = await this.#throttle.step(async () => {
        const page = selectFanOutsAfter(this.#database.read, after, rowsPerStep);
        for (const { eventSeq } of page) waiting.add(eventSeq);
        return page.at(-1);
      });
    }
  }

  /** One whose event is gone, which nothing here brings about, would have its team's events queued in steps for ever. */
  async #dropFanOuts(): Promise<void> {
    for (let place: FanOutKey | undefined = beforeFanOuts; place && !this.#throttle.isStopped;) {
      const after: FanOutKey = place;
      place = await this.#throttle.step(async () => {
        const page = selectFanOutsAfter(this.#database.read, after, rowsPerStep);
        const orphans = page.filter(
          ({ eventSeq }) => selectEventTime(this.#database.read, eventSeq) === null,
        );
        if (orphans.length > 0) {
          await this.#database.write((tx) => {
            for (const orphan of orphans) deleteFanOut(tx, orphan);
          });
        }
        return page.at(-1);
      });
    }
  }

  async #dropSubscriptions(before: number): Promise<number> {
    return await this.#repeat(async (tx) => {
      const ids = await selectForgottenSubscriptionIds(tx, before, rowsPerStep);
      if (ids.length > 0) await deleteSubscriptions(tx, ids);
      return ids.length;
    });
  }

  /** Writes until a write finds less than a whole step to do; returns how many rows that came to. */
  async #repeat(step: (tx: Transaction) => Promise<number>): Promise<number> {
    let total = 0;
    for (let rows = rowsPerStep; rows === rowsPerStep && !this.#throttle.isStopped;) {
      rows = await this.#throttle.step(() => this.#database.write(step));
      total += rows;
    }
    return total;
  }
}

/** Those of the events that no attempt refers to. */
async function unlogged(db: Connection, events: number[]): Promise<number[]> {
  if (events.length === 0) return [];
  const logged = new Set(await selectLoggedEvents(db, events));
  return events.filter((seq) => !logged.has(seq));
}
