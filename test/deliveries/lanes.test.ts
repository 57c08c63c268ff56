import { describe, expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

const names = (count: number, prefix = "s") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe("turns", () => {
  test("alternate: each subscription gets one attempt before any gets its second", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a", "b", "c");
    for (const name of ["a", "b", "c"]) queue.add(name, 3);
    void queue.lanes.wake(["a", "b", "c"]);
    await settled();
    expect(queue.begun).toEqual(["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
  });

  test("take a subscription's jobs in order of their due times", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    const now = Date.now();
    const [late] = queue.add("a", 1, now - 10);
    const [first] = queue.add("a", 1, now - 1_000);
    const [middle] = queue.add("a", 1, now - 500);
    void queue.lanes.wake(["a"]);
    await settled();
    expect([...queue.inFlight.keys()]).toEqual([first, middle, late] as number[]);
  });

  test("continue each time an attempt ends, until no job is left", async () => {
    const queue = new MemoryQueue();
    queue.add("a", 70);
    void queue.lanes.wake(["a"]);
    await settled();
    for (let ended = 0; ended < 70; ended++) {
      queue.end("a");
      await settled();
    }
    expect(queue.begun).toHaveLength(70);
    expect(queue.jobs.get("a")).toEqual([]);
  });

  test("do not repeat an attempt that ends after the queue was read and before the answer is here", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    const attempted: number[] = [];
    const work = queue.work.bind(queue);
    const nextJobs = queue.nextJobs.bind(queue);
    queue.work = (job, report) => {
      attempted.push(job.eventSeq);
      return work(job, report);
    };
    const [first = 0] = queue.add("a");
    void queue.lanes.wake(["a"]);
    await settled();
    const answer = Promise.withResolvers<void>();
    queue.nextJobs = async (...asked) => {
      const found = await nextJobs(...asked);
      await answer.promise;
      return found;
    };
    const [second = 0] = queue.add("a");
    void queue.lanes.wake(["a"]);
    await settled();
    queue.end("a");
    await settled();
    answer.resolve();
    await settled();
    expect(attempted).toEqual([first, second]);
  });
});

describe("starting many attempts", () => {
  test("yields to other work in between: longer for slow receivers, not at all for quick ones", async () => {
    const all = names(40);
    const begin = async () => {
      const queue = new MemoryQueue();
      queue.onLook = () => Bun.sleepSync(1);
      for (const name of all) queue.add(name);
      void queue.lanes.wake(all);
      await until("all have begun", () => queue.inFlight.size === 40);
      return queue;
    };
    let queue = await begin();
    // A machine that suspends the process for as long as a slice adds a rest, but not each time.
    for (let tries = 1; tries < 4 && queue.rests.length > 40; tries++) {
      await queue.lanes.stop(0);
      queue = await begin();
    }
    expect(queue.rests.length).toBeWithin(19, 41);
    expect(Math.max(...queue.rests)).toBe(0);
    expect(new Set(queue.begun)).toEqual(new Set(all));

    for (const name of all) queue.end(name);
    await settled();
    queue.rests = [];
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    expect([queue.rests, queue.inFlight.size]).toEqual([[], 40]);

    for (const name of all) queue.end(name, { durationMs: 5_000 });
    await settled();
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await until("all have begun", () => queue.inFlight.size === 40);
    expect(Math.min(...queue.rests)).toBeWithin(3, 51);
    await queue.lanes.stop(0);
  });
});

describe("a subscription's share", () => {
  test("is 20 attempts at once while it is alone", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    queue.add("a", 50);
    void queue.lanes.wake(["a"]);
    await settled();
    expect(queue.count("a")).toBe(20);
  });

  test("shrinks as other subscriptions claim theirs, while attempts in flight finish", async () => {
    const queue = new MemoryQueue();
    const all = names(40);
    await queue.prove(...all);
    for (const name of all) queue.add(name, 50);
    void queue.lanes.wake(["s0"]);
    await settled();
    expect(queue.count("s0")).toBe(20);

    void queue.lanes.wake(all);
    await settled();
    for (const name of all.slice(1)) expect(queue.count(name)).toBeWithin(2, 4);
    for (let ended = 0; ended < 30; ended++) {
      queue.end("s0");
      await settled();
    }
    expect(queue.count("s0")).toBe(3);
  });

  test("is never less than one, however many subscriptions claim one", async () => {
    const queue = new MemoryQueue();
    const all = names(230);
    await queue.prove(...all);
    for (const name of all) queue.add(name, 2);
    void queue.lanes.wake(all);
    await settled();
    expect(all.map((name) => queue.count(name))).toEqual(all.map(() => 1));
  });

  test("is not claimed by a subscription whose next job is due later", async () => {
    const queue = new MemoryQueue();
    const asleep = names(100, "asleep");
    await queue.prove("a");
    for (const name of asleep) queue.add(name, 1, Date.now() + 3_600_000);
    queue.add("a", 50);
    void queue.lanes.wake([...asleep, "a"]);
    await settled();
    expect(queue.count("a")).toBe(20);
    await queue.lanes.stop(0);
  });
});

describe("a job that is due later", () => {
  test("is sent when it is due, not before, without queries meanwhile", async () => {
    const queue = new MemoryQueue();
    const dueAt = Date.now() + 60;
    queue.add("a", 1, dueAt);
    void queue.lanes.wake(["a"]);
    await settled();
    expect([queue.begun, queue.asked.get("a")]).toEqual([[], 1]);
    await until("it is sent", () => queue.count("a") === 1);
    expect(Date.now()).toBeGreaterThanOrEqual(dueAt);
    expect(queue.asked.get("a")).toBeLessThanOrEqual(3);
  });

  test("does not delay one that is due now, and is not forgotten because of it", async () => {
    const queue = new MemoryQueue();
    queue.add("a", 1, Date.now() + 40);
    void queue.lanes.wake(["a"]);
    await settled();
    queue.add("a");
    void queue.lanes.wake(["a"]);
    await settled();
    expect(queue.begun).toHaveLength(1);
    queue.end("a");
    await until("the later one is sent too", () => queue.begun.length === 2);
  });

  test("may be due later than the longest delay of a timer", async () => {
    const queue = new MemoryQueue();
    queue.add("far", 1, Date.now() + 100 * 24 * 3_600_000);
    queue.add("near", 1, Date.now() + 20);
    void queue.lanes.wake(["far", "near"]);
    await until("the near one is sent", () => queue.count("near") === 1);
    expect([queue.count("far"), queue.asked.get("far")]).toEqual([0, 1]);
    await queue.lanes.stop(0);
  });
});

describe("a wake", () => {
  test("during a query that finds nothing leads to another query", async () => {
    const queue = new MemoryQueue();
    queue.onLook = () => {
      queue.onLook = () => {};
      queue.add("a");
      void queue.lanes.wake(["a"]);
    };
    void queue.lanes.wake(["a"]);
    await settled();
    expect(queue.count("a")).toBe(1);
  });

  test("while a subscription's jobs are in flight sends none of them twice", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    queue.add("a", 3);
    for (let wakes = 0; wakes < 5; wakes++) {
      void queue.lanes.wake(["a", "a"]);
      await settled();
    }
    expect(queue.begun).toHaveLength(3);
  });

  test("again, before the subscription's record has come, sends no job twice", async () => {
    const queue = new MemoryQueue();
    queue.isLate = true;
    queue.add("a", 3);
    await Promise.all([queue.lanes.wake(["a"]), queue.lanes.wake(["a"])]);
    await settled();
    expect(queue.begun).toEqual(["a"]);
  });

  test("for a subscription without jobs costs one query and leaves nothing behind", async () => {
    const queue = new MemoryQueue();
    const idle = names(1_000, "idle");
    void queue.lanes.wake(idle);
    await settled();
    expect([...queue.asked.values()]).toEqual(idle.map(() => 1));
    await queue.prove("a");
    queue.add("a", 50);
    void queue.lanes.wake(["a"]);
    await settled();
    expect(queue.count("a")).toBe(20);
  });
});

describe("jobs that are deleted after they were prefetched", () => {
  test("do not hide the new jobs behind them", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    const [first, ...others] = queue.add("a", 30);
    void queue.lanes.wake(["a"]);
    await settled();
    for (const event of others) if (!queue.inFlight.has(event)) queue.drop(event);
    const [fresh] = queue.add("a");
    void queue.lanes.wake(["a"]);
    await settled();
    queue.inFlight.get(first as number)?.end();
    await settled();
    expect(queue.inFlight.has(fresh as number)).toBe(true);
  });
});
