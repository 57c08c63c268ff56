import { expect } from "bun:test";
import { Lanes, type Queue } from "../../src/deliveries/lanes.ts";
import { createLog } from "../../src/log.ts";

type QueuedJob = { eventSeq: number; dueAt: number };

/** A queue in memory. An attempt lasts until the test ends it; then its job leaves the queue. */
export class MemoryQueue implements Queue {
  readonly jobs = new Map<string, QueuedJob[]>();
  /** The subscription of each attempt, in the order in which they began. */
  readonly begun: string[] = [];
  readonly underWay = new Map<
    number,
    { subscription: string; end: () => void; fail: (error: Error) => void }
  >();
  /** How often each subscription's jobs were asked for. */
  readonly asked = new Map<string, number>();
  /** Called in the middle of a look at the queue, when what it will find is settled already. */
  onLook: (subscription: string) => void = () => {};
  readonly lanes = new Lanes(this, createLog("silent"));
  #lastSeq = 0;

  /** Queues jobs for the subscription that are due at once, or at the time given. Returns their numbers. */
  add(subscription: string, count = 1, dueAt = 0): number[] {
    const added = Array.from({ length: count }, () => ({ eventSeq: ++this.#lastSeq, dueAt }));
    this.jobs.set(subscription, [...(this.jobs.get(subscription) ?? []), ...added]);
    return added.map(({ eventSeq }) => eventSeq);
  }

  async nextJobs(subscription: string, limit: number): Promise<QueuedJob[]> {
    this.asked.set(subscription, (this.asked.get(subscription) ?? 0) + 1);
    const jobs = this.jobs.get(subscription) ?? [];
    const found = jobs.toSorted((a, b) => a.dueAt - b.dueAt || a.eventSeq - b.eventSeq).slice(0, limit);
    this.onLook(subscription);
    return found;
  }

  async work({ eventSeq }: { eventSeq: number }): Promise<void> {
    const subscription = this.subscriptionOf(eventSeq);
    // Dropped since it was fetched.
    if (subscription === undefined) return;
    expect(this.underWay.has(eventSeq), "the same job is under way twice").toBe(false);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.begun.push(subscription);
    this.underWay.set(eventSeq, { subscription, end: resolve, fail: reject });
    try {
      await promise;
      this.drop(eventSeq);
    } finally {
      this.underWay.delete(eventSeq);
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

  /** How many attempts for the subscription are under way. */
  count(subscription: string): number {
    return [...this.underWay.values()].filter((attempt) => attempt.subscription === subscription).length;
  }

  /** Ends the oldest attempt that is under way for the subscription. */
  end(subscription: string): void {
    const attempt = [...this.underWay.values()].find((each) => each.subscription === subscription);
    if (!attempt) throw new Error(`nothing is under way for ${subscription}`);
    attempt.end();
  }
}

/** Until everything that needs no time has happened. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
