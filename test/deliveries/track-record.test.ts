import { describe, expect, test } from "bun:test";
import { paceMs } from "../../src/deliveries/track-record.ts";
import { until } from "../support/conditions.ts";
import { backoffBaseMs, MemoryQueue, settled } from "./memory-queue.ts";

/** Begins what may begin of a subscription that has much to do, and returns how many are in flight then. */
async function begun(queue: MemoryQueue, subscription: string): Promise<number> {
  queue.add(subscription, 50);
  void queue.lanes.wake([subscription]);
  await settled();
  return queue.count(subscription);
}

/** Ends all that is in flight for the subscription. */
async function endAll(queue: MemoryQueue, subscription: string, how = {}): Promise<void> {
  const all = [...queue.inFlight.values()].filter((attempt) => attempt.subscription === subscription);
  for (const attempt of all) attempt.end(how);
  await settled();
}

describe("slow start", () => {
  test("begins with one request at a time, and each success doubles the number, up to 20", async () => {
    const queue = new MemoryQueue();
    expect(await begun(queue, "a")).toBe(1);
    for (const expected of [2, 4, 8, 16, 20, 20]) {
      queue.end("a");
      await settled();
      expect(queue.count("a")).toBe(expected);
    }
  });

  test("begins again with one request after a failure", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    expect(await begun(queue, "a")).toBe(20);
    await endAll(queue, "a", { hasFailed: true });
    expect(queue.count("a")).toBe(1);
    queue.end("a");
    await settled();
    expect(queue.count("a")).toBe(2);
  });

  test("does not take a success from before a failure for a sign of life after it", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    expect(await begun(queue, "a")).toBe(20);
    const { promise: written, resolve: write } = Promise.withResolvers<void>();
    const all = [...queue.inFlight.values()];
    for (const attempt of all.slice(0, 10)) attempt.end({ written });
    await settled();
    all[10]?.end({ hasFailed: true });
    await settled();
    write();
    await settled();
    expect(queue.count("a")).toBe(9);
  });
});

describe("attempts that fail while they are in flight together", () => {
  test("count as one failure of the streak, and the next to fail is the second", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    await begun(queue, "a");
    await endAll(queue, "a", { hasFailed: true });
    expect(queue.failures.get("a")).toBe(1);
    await endAll(queue, "a", { hasFailed: true });
    expect(queue.failures.get("a")).toBe(2);
  });
});

describe("the pace of a subscription whose deliveries fail", () => {
  test.each<[streak: number, seconds: number]>([
    [0, 0],
    [1, 0],
    [2, 0.5],
    [3, 2.5],
    [4, 12.5],
    [5, 60],
    [1_000, 60],
  ])("after %d failures in a row waits %d s with the default backoff", (streak, seconds) => {
    expect(paceMs(streak, 10_000)).toBe(seconds * 1_000);
  });

  test("lets one attempt follow the first failure at once and delays the next, whatever events arrive", async () => {
    const queue = new MemoryQueue();
    await begun(queue, "a");
    await endAll(queue, "a", { hasFailed: true });
    expect(queue.count("a")).toBe(1);
    await endAll(queue, "a", { hasFailed: true });
    const failedAt = performance.now();
    for (let more = 0; more < 5; more++) expect(await begun(queue, "a")).toBe(0);
    await until("it goes on", () => queue.count("a") === 1);
    expect(performance.now() - failedAt).toBeGreaterThanOrEqual(backoffBaseMs / 20 - 2);
    await queue.lanes.stop(0);
  });

  test("lasts even if no jobs are left meanwhile", async () => {
    const queue = new MemoryQueue();
    for (let failures = 0; failures < 2; failures++) {
      queue.add("a");
      void queue.lanes.wake(["a"]);
      await settled();
      queue.end("a", { hasFailed: true });
      await settled();
    }
    expect(await begun(queue, "a")).toBe(0);
    await queue.lanes.stop(0);
  });

  test("is reset when somebody ends the streak by hand", async () => {
    const queue = new MemoryQueue();
    for (let failures = 0; failures < 4; failures++) {
      await until("one is in flight", async () => (await begun(queue, "a")) === 1);
      queue.end("a", { hasFailed: true });
      await settled();
    }
    expect(await begun(queue, "a")).toBe(0);
    queue.failures.set("a", 0);
    expect(await begun(queue, "a")).toBe(1);
    await queue.lanes.stop(0);
  });
});
