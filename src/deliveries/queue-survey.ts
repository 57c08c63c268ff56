import type { Database } from "../database/database.ts";
import { beforeFanOuts, selectFanOutsAfter } from "../outbox/fan-out-store.ts";
import { selectAhead, selectJobCount } from "../outbox/job-store.ts";
import { selectSubscriptionStates, type SubscriptionState } from "../subscriptions/store.ts";
import { Throttle } from "./throttle.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/** What one step reads at most: about half a millisecond of the event loop. */
const subscriptionsPerPage = 200;
const jobsPerPage = 5_000;
const fanOutsPerPage = 500;

/** After each step the survey rests for this multiple of its duration, at most `restMaxMs` milliseconds. */
const restFactor = 20;
const restMaxMs = 50;

/** The rest after each `jobsPerPage` jobs, however many subscriptions they belong to, in milliseconds. */
const countingRestMs = 20;

/** What a count costs by itself, in jobs: many subscriptions may have one each. */
const statementInJobs = 10;

/** Figures are shared for this long, in milliseconds. */
const sharedForMs = 1_000;

/** How long a caller waits for counts, in milliseconds; then it gets older ones. */
const waitMs = 250;

/** The state of the whole queue. */
export type QueueFigures = {
  /** How long the oldest due job of an active subscription has been due, in milliseconds; 0 when none is due. */
  oldestDueMs: number;
  /** Subscriptions by status; `failing` are the active ones whose latest attempt failed. */
  subscriptions: { active: number; failing: number; disabled: number };
  /** Undefined while they are counted for the first time. */
  counts: QueueCounts | undefined;
};

type QueueCounts = {
  /** Waiting jobs, by the status of their subscription. */
  jobs: { active: number; disabled: number };
  /** Events that are not yet queued for all of their subscriptions. */
  fanOuts: number;
};

/** What is known before anything is counted, and the subscriptions whose jobs are to be counted. */
type States = Omit<QueueFigures, "counts"> & { withJobs: Array<Pick<SubscriptionState, "id" | "status">> };

/**
 * Looks through the queue when somebody asks, in small steps with rests between them: the queue may hold millions of
 * jobs, and counting them at once would hold up requests.
 */
export class QueueSurvey {
  readonly #database: Pick<Database, "ask">;
  readonly #isHeldBack: (subscriptionId: string) => boolean;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #jobsSinceRest = 0;
  #states: States | undefined;
  #counts: QueueCounts | undefined;
  #freshUntil = -Infinity;
  #running: { states: Promise<void>; all: Promise<void> } | undefined;

  /** `isHeldBack` tells whose jobs wait for an operator, or for another node: they are counted, but not due here. */
  constructor(database: Pick<Database, "ask">, isHeldBack: (subscriptionId: string) => boolean) {
    this.#database = database;
    this.#isHeldBack = isHeldBack;
  }

  /**
   * Returns the figures, which are about a second old at most. Counting takes longer where much waits, about five
   * seconds for a million jobs; meanwhile the counts are those of the survey before.
   * @throws SQLite's error when the database cannot be read.
   */
  async figures(): Promise<QueueFigures> {
    if (performance.now() >= this.#freshUntil) await this.#refresh();
    const { oldestDueMs, subscriptions } = this.#states as States;
    return { oldestDueMs, subscriptions, counts: this.#counts };
  }

  /** Ends a survey in progress. */
  stop(): void {
    this.#throttle.stop();
  }

  async #refresh(): Promise<void> {
    const { states, all } = (this.#running ??= this.#survey());
    await states;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    try {
      await Promise.race([all, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #survey(): { states: Promise<void>; all: Promise<void> } {
    const states = this.#readStates().then((read) => void (this.#states = read));
    const all = states
      .then(async () => {
        this.#counts = await this.#count(this.#states?.withJobs ?? []);
        this.#freshUntil = performance.now() + sharedForMs;
      })
      .finally(() => (this.#running = undefined));
    // Its callers may have stopped waiting by the time it fails.
    all.catch(() => {});
    return { states, all };
  }

  async #readStates(): Promise<States> {
    const withJobs: States["withJobs"] = [];
    const subscriptions = { active: 0, failing: 0, disabled: 0 };
    let oldestDueAt = Infinity;
    const read = ({ id }: Pick<SubscriptionState, "id">) =>
      this.#database.ask((db) => selectSubscriptionStates(db, id, subscriptionsPerPage));
    for await (const page of this.#throttle.pages({ id: "" }, read)) {
      for (const { id, status, failures, isDeleted, firstDueAt } of page) {
        if (isDeleted === 1) continue;
        subscriptions[status === "active" && failures > 0 ? "failing" : status]++;
        if (firstDueAt === null) continue;
        withJobs.push({ id, status });
        if (status === "active" && !this.#isHeldBack(id)) oldestDueAt = Math.min(oldestDueAt, firstDueAt);
      }
    }
    const now = workspaceTime() + (await this.#database.ask(selectAhead));
    return { oldestDueMs: Math.max(0, now - oldestDueAt), subscriptions, withJobs };
  }

  async #count(withJobs: States["withJobs"]): Promise<QueueCounts> {
    const jobs = { active: 0, disabled: 0 };
    for (const { id, status } of withJobs) jobs[status] += await this.#countJobs(id);
    let fanOuts = 0;
    const read = (after: typeof beforeFanOuts) =>
      this.#database.ask((db) => selectFanOutsAfter(db, after, fanOutsPerPage));
    for await (const page of this.#throttle.pages(beforeFanOuts, read)) fanOuts += page.length;
    return { jobs, fanOuts };
  }

  async #countJobs(subscriptionId: string): Promise<number> {
    let total = 0;
    let afterDueAt = -1;
    while (!this.#throttle.isStopped) {
      const after = afterDueAt;
      const { count, upTo } = await this.#database.ask((db) =>
        selectJobCount(db, subscriptionId, after, jobsPerPage),
      );
      total += count;
      this.#jobsSinceRest += Math.max(count, statementInJobs);
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
