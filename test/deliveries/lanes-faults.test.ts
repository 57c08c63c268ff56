import { describe, expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

describe("an error of the queue", () => {
  test("while it is read makes that subscription wait for a second, and no other", async () => {
    const queue = new MemoryQueue();
    queue.add("a");
    queue.add("b");
    queue.onLook = (subscription) => {
      if (subscription === "a") throw new Error("the disk cannot be read");
    };
    void queue.lanes.wake(["a", "b"]);
    await settled();
    void queue.lanes.wake(["a"]);
    await settled();
    expect([queue.begun, queue.asked.get("a")]).toEqual([["b"], 1]);

    queue.onLook = () => {};
    await until("it is asked again", () => queue.count("a") === 1);
  });

  test("at one job makes that subscription back off, whatever wakes it, while others continue", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a", "b");
    const [broken] = queue.add("a", 2);
    queue.add("b", 2);
    const work = queue.work.bind(queue);
    let tries = 0;
    queue.work = async (job, report) => {
      if (job.eventSeq === broken && ++tries === 1) throw new Error("the disk cannot be read");
      return await work(job, report);
    };
    void queue.lanes.wake(["a", "b"]);
    void queue.lanes.wake(["a"]);
    await settled();
    void queue.lanes.wake(["a"]);
    await settled();
    expect([tries, queue.count("b")]).toEqual([1, 2]);

    await until("it is tried again", () => queue.inFlight.has(broken as number));
    expect([tries, queue.count("a")]).toEqual([2, 2]);
  });
});

describe("a stop", () => {
  test("starts no more attempts and waits for those in flight", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a");
    queue.add("a", 30);
    queue.add("later", 1, Date.now() + 20);
    void queue.lanes.wake(["a", "later"]);
    await settled();
    let isStopped = false;
    const stopping = queue.lanes.stop(60_000).then(() => (isStopped = true));
    void queue.lanes.wake(["a", "b"]);
    for (let ended = 0; ended < 20; ended++) {
      expect(isStopped).toBe(false);
      queue.end("a");
      await settled();
    }
    await stopping;
    expect(queue.begun).toHaveLength(20);
  });

  test("gives up on what is still in flight after the given time", async () => {
    const queue = new MemoryQueue();
    queue.add("hangs");
    void queue.lanes.wake(["hangs"]);
    await settled();
    const startedAt = performance.now();
    await queue.lanes.stop(30);
    expect(performance.now() - startedAt).toBeWithin(29, 5_000);
    expect(queue.count("hangs")).toBe(1);
  });

  test("during a query starts none of the jobs that it finds", async () => {
    const queue = new MemoryQueue();
    queue.add("a", 1);
    let stopping: Promise<void> | undefined;
    queue.onLook = () => {
      stopping = queue.lanes.stop(60_000);
    };
    void queue.lanes.wake(["a"]);
    await settled();
    await stopping;
    expect(queue.begun).toEqual([]);
  });
});
