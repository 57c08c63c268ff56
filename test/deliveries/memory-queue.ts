import { expect } from "bun:test";
import type { Answer } from "../../src/database/answer.ts";
import { Lanes } from "../../src/deliveries/lanes.ts";
import { type Places, placesFor, requestsMax } from "../../src/deliveries/places.ts";
import type { AttemptResult, Queue } from "../../src/deliveries/queue.ts";
import { createLog } from "../../src/log/log.ts";
import type { DeliveryRecord } from "../../src/subscriptions/store.ts";

/** How an attempt ends, and when that is committed: at once by default. */
export type Ending = {
  hasFailed?: boolean;
  hasTimedOut?: boolean;
  durationMs?: number;
  written?: Promise<void>;
};

type QueuedJob = { eventSeq: number; dueAt: number };

/** The unit of the pace of failing subscriptions, in milliseconds. */
export const backoffBaseMs = 400;

/** A queue in memory. An attempt lasts until the test ends it; then its job leaves the queue. */
export class MemoryQueue implements Queue {
  readonly jobs = new Map<string, QueuedJob[]>();
  /** The subscription of each attempt, in the order in which they began. */
  readonly begun: string[] = [];
  readonly inFlight = new Map<
    number,
    { subscription: string; end: (how?: Ending) => void; fail: (error: Error) => void }
  >();
  /** Each subscription's failures in a row. */
  readonly failures = new Map<string, number>();
  /** The team of each subscription that is not in the default team. */
  readonly teams = new Map<string, string>();
  /** The host of each subscription that does not have its own. */
  readonly hosts = new Map<string, string>();
  /** Where each subscription's requests go by now, if that has changed. */
  readonly urls = new Map<string, string>();
  /** How often each subscription's jobs were queried. */
  readonly asked = new Map<string, number>();
  /** The duration of each rest of the lanes, in milliseconds. */
  rests: number[] = [];
  /** Whether records come a turn of the event loop later, as from a database on another machine. */
  isLate = false;
  /** Called during a query of the queue, once its result is fixed. */
  onLook: (subscription: string) => void = () => {};
  readonly lanes: Lanes;
  #lastSeq = 0;

  /** Has places for this many attempts at once, in total or for each speed. */
  constructor(atOnce: number | Places = requestsMax) {
    const places = typeof atOnce === "number" ? placesFor(atOnce) : atOnce;
    this.lanes = new Lanes(this, createLog("silent"), { places, backoffBaseMs });
  }

  now(): number {
    return Date.now();
  }

  /** Waits for one turn of the event loop, whatever the duration. */
  async rest(ms: number): Promise<void> {
    this.rests.push(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  deliveryRecord(subscription: string): Answer<DeliveryRecord> {
    const record = {
      teamId: this.teams.get(subscription) ?? "team",
      url: `http://${this.hosts.get(subscription) ?? subscription}/`,
      failures: this.failures.get(subscription) ?? 0,
      hasSucceeded: false,
    };
    return this.isLate ? new Promise((resolve) => setImmediate(resolve, record)) : record;
  }

  /** Has each of the subscriptions respond quickly until it may have its whole share. */
  async prove(...subscriptions: string[]): Promise<void> {
    for (let doublings = 0; doublings < 5; doublings++) {
      for (const subscription of subscriptions) this.add(subscription);
      void this.lanes.wake(subscriptions);
      await settled();
      for (const subscription of subscriptions) {
        while (this.count(subscription) === 0) await settled();
        this.end(subscription);
      }
      await settled();
    }
    this.begun.length = 0;
    this.asked.clear();
  }

  /** Queues jobs for the subscription, due at once or at the given time. Returns their numbers. */
  add(subscription: string, count = 1, dueAt = 0): number[] {
    const added = Array.from({ length: count }, () => ({ eventSeq: ++this.#lastSeq, dueAt }));
    this.jobs.set(subscription, [...(this.jobs.get(subscription) ?? []), ...added]);
    return added.map(({ eventSeq }) => eventSeq);
  }

  async nextJobs(subscription: string, limit: number): Promise<{ url?: string; jobs: QueuedJob[] }> {
    this.asked.set(subscription, (this.asked.get(subscription) ?? 0) + 1);
    const jobs = this.jobs.get(subscription) ?? [];
    const found = jobs.toSorted((a, b) => a.dueAt - b.dueAt || a.eventSeq - b.eventSeq).slice(0, limit);
    this.onLook(subscription);
    const url = this.urls.get(subscription);
    return { jobs: found, ...(url !== undefined && { url }) };
  }

  async work(
    { eventSeq }: { eventSeq: number },
    report: (hasSucceeded: boolean) => boolean,
  ): Promise<AttemptResult | undefined> {
    const subscription = this.subscriptionOf(eventSeq);
    // Deleted since it was fetched.
    if (subscription === undefined) return undefined;
    this.begun.push(subscription);
    expect(this.inFlight.has(eventSeq), "the same job is in flight twice").toBe(false);
    const { promise, resolve, reject } = Promise.withResolvers<Ending>();
    this.inFlight.set(eventSeq, { subscription, end: (how = {}) => resolve(how), fail: reject });
    try {
      const { hasFailed = false, hasTimedOut = false, durationMs = 0, written } = await promise;
      this.drop(eventSeq);
      const isCounted = report(!hasFailed);
      if (written) await written;
      if (!hasFailed) {
        this.failures.delete(subscription);
        return { kind: "succeeded", durationMs };
      }
      const failures = (this.failures.get(subscription) ?? 0) + (isCounted ? 1 : 0);
      this.failures.set(subscription, failures);
      return { kind: "failed", durationMs, hasTimedOut, isCounted, failures };
    } finally {
      this.inFlight.delete(eventSeq);
    }
  }

  drop(eventSeq: number): void {
    for (const [subscription, jobs] of this.jobs) {
      this.jobs.set(
        subscription,
        jobs.filter((job) => job.eventSeq !== eventSeq),
      );
    }
  }

  subscriptionOf(eventSeq: number): string | undefined {
    for (const [subscription, jobs] of this.jobs)
      if (jobs.some((job) => job.eventSeq === eventSeq)) return subscription;
    return undefined;
  }

  /** How many attempts for the subscription are in flight. */
  count(subscription: string): number {
    return [...this.inFlight.values()].filter((attempt) => attempt.subscription === subscription).length;
  }

  /** Ends the subscription's oldest attempt in flight, by default as a quick success. */
  end(subscription: string, how?: Ending): void {
    const attempt = [...this.inFlight.values()].find((each) => each.subscription === subscription);
    if (!attempt) throw new Error(`nothing is in flight for ${subscription}`);
    attempt.end(how);
  }
}

/** Waits until the event loop is idle, so that everything that needs no time has happened. */
export async function settled(): Promise<void> {
  let beganAt: number;
  do {
    beganAt = performance.now();
    // Lanes that have more to do work for a millisecond a turn; the first of these turns may be cut short.
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  } while (performance.now() - beganAt > 2);
}
