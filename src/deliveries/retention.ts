import { waitForOthers } from "../database/alone.ts";
import type { Database, Connection, Transaction } from "../database/database.ts";
import {
  deleteEvents,
  selectEventSeqs,
  selectEventsBefore,
  selectEventTime,
  selectLastEventSeq,
} from "../outbox/event-store.ts";
import { beforeFanOuts, deleteFanOut, type FanOutKey, selectFanOutsAfter } from "../outbox/fan-out-store.ts";
import { deleteJobs, deleteJobsBefore, endOfQueue, selectJobsBackwards } from "../outbox/job-store.ts";
import type { Log } from "../log/log.ts";
import { deleteRefusedPostsBefore } from "../incoming-webhooks/refused-store.ts";
import { forgetEndedSecrets } from "../incoming-webhooks/store.ts";
import { keyLifeMs } from "../messages/once.ts";
import { deleteIdempotencyKeysBefore } from "../messages/once-store.ts";
import {
  deleteSubscriptions,
  selectDeletedSubscriptionIds,
  selectDestination,
  selectDisabledSubscriptionIds,
  selectForgottenSubscriptionIds,
} from "../subscriptions/store.ts";
import { NumberSet, numbersMax } from "./number-set.ts";
import { deleteAttemptsBefore, selectLoggedEvents } from "./attempt-store.ts";
import { Throttle } from "./throttle.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Rows per step: a few milliseconds of work, so that other writes do not wait for longer. */
const rowsPerStep = 200;

/** After each step retention rests for this multiple of its duration: requests and deliveries come first. */
const restFactor = 9;

/** The longest rest, in milliseconds. */
const restMaxMs = 10_000;

/** The wait after a run that failed, in milliseconds; it doubles with each further one, up to `dayMs`. */
const retryMs = 5_000;

type Alone = (work: () => Promise<void>) => Promise<void>;

/**
 * Deletes expired data: the jobs of deleted subscriptions, attempts and the jobs of disabled subscriptions older than
 * `days` (`WEBHOOKS_DELIVERY_RETENTION_DAYS`), events as old that no attempt or job refers to, and deleted subscriptions
 * that nothing refers to, with their secrets, idempotency keys that have had their day, refused posts as old as those
 * attempts, and the secrets of incoming webhooks whose overlap has ended. With 0 days all attempts, events and refused
 * posts are kept.
 */
export class Retention {
  readonly #database: Database;
  readonly #days: number;
  readonly #log: Log;
  readonly #alone: Alone;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #failures = 0;
  #timer: Timer | undefined;
  #run: Promise<void> = Promise.resolve();

  /** `alone` runs what one of several servers does at a time, and leaves it out while another does it. */
  constructor(database: Database, days: number, log: Log, alone: Alone = (work) => work()) {
    this.#database = database;
    this.#days = days;
    this.#log = log;
    this.#alone = alone;
  }

  /** Runs now, and again a day after the end of each run; soon after one that failed, as in an outage. */
  start(): void {
    this.#run = this.#runOnce().then((waitMs) => {
      if (!this.#throttle.isStopped) this.#timer = setTimeout(() => this.start(), waitMs);
    });
  }

  /** Resolves after the write in progress, without waiting for the end of a rest. */
  async stop(): Promise<void> {
    this.#throttle.stop();
    clearTimeout(this.#timer);
    await this.#run;
  }

  /** Makes one full run. `now` is milliseconds since 1970. */
  async sweep(now = workspaceTime()): Promise<void> {
    const jobs = (await this.#deleteJobsOfDeleted()) + (await this.#deleteJobsOfDisabled(now));
    const before = now - this.#days * dayMs;
    const attempts = this.#days === 0 ? 0 : await this.#deleteAttempts(before);
    const events = this.#days === 0 ? 0 : await this.#deleteEvents(before);
    await this.#deleteOrphanedFanOuts();
    // After a day no attempt that was in flight at the deletion can still be logged.
    const subscriptions = await this.#deleteSubscriptions(now - dayMs);
    await this.#repeat((tx) => deleteIdempotencyKeysBefore(tx, now - keyLifeMs, rowsPerStep));
    await this.#repeat((tx) => forgetEndedSecrets(tx, now));
    if (this.#days > 0) await this.#repeat((tx) => deleteRefusedPostsBefore(tx, before, rowsPerStep));
    this.#log.info({ jobs, attempts, events, subscriptions }, "retention.swept");
  }

  /** Returns how long to wait for the next run, in milliseconds. */
  async #runOnce(): Promise<number> {
    try {
      await this.#alone(() => this.sweep());
      this.#failures = 0;
      return dayMs;
    } catch (error) {
      this.#log.error({ err: error }, "retention.failed");
      return Math.min(retryMs * 2 ** this.#failures++, dayMs);
    }
  }

  async #deleteJobsOfDeleted(): Promise<number> {
    let deleted = 0;
    for (const id of await this.#database.ask(selectDeletedSubscriptionIds)) {
      deleted += await this.#repeat((tx) => deleteJobs(tx, id, rowsPerStep));
    }
    return deleted;
  }

  /** The jobs of a disabled subscription wait for as long as attempts are kept. */
  async #deleteJobsOfDisabled(now: number): Promise<number> {
    if (this.#days === 0) return 0;
    const before = now - this.#days * dayMs;
    let deleted = 0;
    for (const id of await this.#database.ask(selectDisabledSubscriptionIds)) {
      // The subscription may have been enabled since, with a promise to send these jobs.
      deleted += await this.#repeat(async (tx) =>
        selectDestination(tx, id) === null ? await deleteJobsBefore(tx, id, before, rowsPerStep) : 0,
      );
    }
    return deleted;
  }

  async #deleteAttempts(before: number): Promise<number> {
    return await this.#repeat((tx) => deleteAttemptsBefore(tx, before, rowsPerStep));
  }

  /**
   * Deletes what happened before the time, in milliseconds since 1970. Goes through all events once, because their age
   * alone does not tell which of them are still needed.
   */
  async #deleteEvents(before: number): Promise<number> {
    let deleted = 0;
    // An event that is committed after those behind it would seem to be queued for nobody.
    const newest = await this.#database.write(async (tx) => {
      waitForOthers(tx);
      return await selectLastEventSeq(tx);
    });
    for (let after = 0; after < newest && !this.#throttle.isStopped;) {
      const [first] = await this.#database.ask((db) => selectEventSeqs(db, { after, limit: 1 }));
      if (first === undefined) break;
      const last = Math.min(newest, first + numbersMax - 1);
      deleted += await this.#deleteEventsBetween(first, last, before);
      after = last;
    }
    return deleted;
  }

  async #deleteEventsBetween(first: number, last: number, before: number): Promise<number> {
    const queued = await this.#queuedBetween(first, last);
    let deleted = 0;
    const pages = this.#throttle.pages(first - 1, (after) =>
      this.#database.ask((db) => selectEventSeqs(db, { after, last, limit: rowsPerStep })),
    );
    for await (const page of pages) {
      const unqueued = page.filter((seq) => !queued.has(seq));
      const candidates = await this.#database.ask((db) => selectEventsBefore(db, unqueued, before));
      if ((await this.#database.ask((db) => unlogged(db, candidates))).length === 0) continue;
      deleted += await this.#database.write(async (tx) => {
        const orphans = await unlogged(tx, candidates);
        await deleteEvents(tx, orphans);
        return orphans.length;
      });
    }
    return deleted;
  }

  /**
   * Returns which of these events are queued or still to be queued. The latter are read first: what is queued meanwhile
   * is then found in the queue. The queue is read backwards, so that no job is missed while deliveries go on: a job
   * that is made due earlier meanwhile is still to come, and one that is scheduled for later has just been logged.
   */
  async #queuedBetween(first: number, last: number): Promise<NumberSet> {
    const queued = new NumberSet(first, last);
    for await (const page of this.#fanOuts()) for (const { eventSeq } of page) queued.add(eventSeq);
    const pages = this.#throttle.pages(endOfQueue, (before) =>
      this.#database.ask((db) => selectJobsBackwards(db, before, rowsPerStep)),
    );
    for await (const page of pages) for (const { eventSeq } of page) queued.add(eventSeq);
    return queued;
  }

  /** Deletes fan-outs without an event. Nothing here creates one, but it would keep its team in fan-outs for ever. */
  async #deleteOrphanedFanOuts(): Promise<void> {
    for await (const page of this.#fanOuts()) {
      const orphans = await this.#database.ask((db) =>
        page.filter(({ eventSeq }) => selectEventTime(db, eventSeq) === null),
      );
      if (orphans.length === 0) continue;
      await this.#database.write((tx) => {
        for (const orphan of orphans) deleteFanOut(tx, orphan);
      });
    }
  }

  #fanOuts(): AsyncGenerator<FanOutKey[], void> {
    return this.#throttle.pages(beforeFanOuts, (after) =>
      this.#database.ask((db) => selectFanOutsAfter(db, after, rowsPerStep)),
    );
  }

  async #deleteSubscriptions(before: number): Promise<number> {
    return await this.#repeat(async (tx) => {
      const ids = await selectForgottenSubscriptionIds(tx, before, rowsPerStep);
      if (ids.length > 0) await deleteSubscriptions(tx, ids);
      return ids.length;
    });
  }

  /** Repeats the write until it affects fewer rows than a full step. Returns the number of rows in total. */
  async #repeat(step: (tx: Transaction) => Promise<number>): Promise<number> {
    let total = 0;
    for (let rows = rowsPerStep; rows === rowsPerStep && !this.#throttle.isStopped;) {
      rows = await this.#throttle.step(() => this.#database.write(step));
      total += rows;
    }
    return total;
  }
}

/** Returns those of the events that no attempt refers to. */
async function unlogged(db: Connection, events: number[]): Promise<number[]> {
  if (events.length === 0) return [];
  const logged = new Set(await selectLoggedEvents(db, events));
  return events.filter((seq) => !logged.has(seq));
}
