import type { Connection } from "../database/database.ts";
import { beforeFanOuts, selectFanOutsAfter } from "../outbox/fan-out-store.ts";
import { selectAhead, selectJobCount } from "../outbox/job-store.ts";
import { selectSubscriptionStates, type SubscriptionState } from "../subscriptions/store.ts";
import { Throttle } from "./throttle.ts";

/** What one step reads at most: about half a millisecond of the event loop. */
const subscriptionsPerPage = 200;
const jobsPerPage = 5_000;
const fanOutsPerPage = 500;

/** After each step the survey rests for this multiple of its duration, at most `restMaxMs` milliseconds. */
const restFactor = 20;
const restMaxMs = 50;

/** The rest after each `jobsPerPage` jobs, however many subscriptions they belong to, in milliseconds. */
const countingRestMs = 20;

/** Figures are shared for this long, in milliseconds. */
const sharedForMs = 1_000;

/** How long a caller waits for new figures if there are older ones, in milliseconds. */
const waitMs = 250;

/** The state of the whole queue. */
export type QueueFigures = {
  /** Waiting jobs, by the status of their subscription. */
  jobs: { active: number; disabled: number };
  /** Events that are not yet queued for all of their subscriptions. */
  fanOuts: number;
  /** How long the oldest due job of an active subscription has been due, in milliseconds; 0 when none is due. */
  oldestDueMs: number;
  /** Subscriptions by status; `failing` are the active ones whose latest attempt failed. */
  subscriptions: { active: number; failing: number; disabled: number };
};

/**
 * Looks through the queue when somebody asks, in small steps with rests between them: the queue may hold millions of
 * jobs, and counting them at once would hold up requests.
 */
export class QueueSurvey {
  readonly #read: Connection;
  readonly #isHeldBack: (subscriptionId: string) => boolean;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #jobsSinceRest = 0;
  #latest: QueueFigures | undefined;
  #freshUntil = -Infinity;
  #running: Promise<QueueFigures> | undefined;

  /** `isHeldBack` tells the subscriptions whose jobs wait for an operator: they are counted, but not due. */
  constructor(read: Connection, isHeldBack: (subscriptionId: string) => boolean) {
    this.#read = read;
    this.#isHeldBack = isHeldBack;
  }

  /**
   * Returns the figures. They are at most a second old, unless looking through a long queue takes longer: a million
   * jobs take about five seconds.
   * @throws SQLite's error when the database cannot be read.
   */
  async figures(): Promise<QueueFigures> {
    if (this.#latest && performance.now() < this.#freshUntil) return this.#latest;
    const running = (this.#running ??= this.#survey());
    if (!this.#latest) return await running;
    const { promise: late, resolve } = Promise.withResolvers<QueueFigures>();
    const timer = setTimeout(resolve, waitMs, this.#latest);
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends a survey in progress. */
  stop(): void {
    this.#throttle.stop();
  }

  #survey(): Promise<QueueFigures> {
    const running = this.#lookThrough()
      .then((figures) => {
        this.#freshUntil = performance.now() + sharedForMs;
        return (this.#latest = figures);
      })
      .finally(() => (this.#running = undefined));
    // Its callers may have stopped waiting by the time it fails.
    running.catch(() => {});
    return running;
  }

  async #lookThrough(): Promise<QueueFigures> {
    const jobs = { active: 0, disabled: 0 };
    const subscriptions = { active: 0, failing: 0, disabled: 0 };
    let oldestDueAt = Infinity;
    const readStates = ({ id }: Pick<SubscriptionState, "id">) =>
      selectSubscriptionStates(this.#read, id, subscriptionsPerPage);
    for await (const page of this.#throttle.pages({ id: "" }, readStates)) {
      for (const { id, status, failures, isDeleted, firstDueAt } of page) {
        if (isDeleted === 1) continue;
        subscriptions[status === "active" && failures > 0 ? "failing" : status]++;
        if (firstDueAt === null) continue;
        jobs[status] += await this.#countJobs(id);
        if (status === "active" && !this.#isHeldBack(id)) oldestDueAt = Math.min(oldestDueAt, firstDueAt);
      }
    }
    let fanOuts = 0;
    const readFanOuts = (after: typeof beforeFanOuts) =>
      selectFanOutsAfter(this.#read, after, fanOutsPerPage);
    for await (const page of this.#throttle.pages(beforeFanOuts, readFanOuts)) fanOuts += page.length;
    const now = Date.now() + selectAhead(this.#read);
    return { jobs, fanOuts, oldestDueMs: Math.max(0, now - oldestDueAt), subscriptions };
  }

  async #countJobs(subscriptionId: string): Promise<number> {
    let total = 0;
    let afterDueAt = -1;
    while (!this.#throttle.isStopped) {
      const { count, upTo } = selectJobCount(this.#read, subscriptionId, afterDueAt, jobsPerPage);
      total += count;
      this.#jobsSinceRest += count;
      if (this.#jobsSinceRest >= jobsPerPage) {
        this.#jobsSinceRest = 0;
        await this.#throttle.rest(countingRestMs);
      }
      if (count < jobsPerPage) break;
      afterDueAt = upTo;
    }
    return total;
  }
}
