import { describe, expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

const names = (count: number, prefix = "s") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe("an endpoint that hangs", () => {
  test("delays no other subscription", async () => {
    const queue = new MemoryQueue();
    await queue.prove("hangs", "answers");
    queue.add("hangs", 1_000);
    queue.add("answers", 100);
    void queue.lanes.wake(["hangs", "answers"]);
    await settled();
    for (let ended = 0; ended < 100; ended++) {
      queue.end("answers");
      await settled();
    }
    expect(queue.jobs.get("answers")).toEqual([]);
    expect(queue.count("hangs")).toBe(20);
  });

  test("delays no other subscription even when enough endpoints hang to fill all shared places", async () => {
    const queue = new MemoryQueue();
    const hanging = names(10, "hangs");
    await queue.prove(...hanging, "answers");
    for (const name of hanging) queue.add(name, 100);
    void queue.lanes.wake(hanging);
    await settled();
    expect(queue.inFlight.size).toBe(120);

    queue.add("answers", 5);
    void queue.lanes.wake(["answers"]);
    for (let ended = 0; ended < 5; ended++) {
      await settled();
      queue.end("answers");
    }
    await settled();
    expect(queue.jobs.get("answers")).toEqual([]);
  });

  test("holds at most 240 quick places together with others like it, and the rest get their turns", async () => {
    const queue = new MemoryQueue();
    const hanging = names(290, "hangs");
    await queue.prove(...hanging);
    for (const name of hanging) queue.add(name, 1);
    void queue.lanes.wake(hanging);
    await settled();
    expect(queue.inFlight.size).toBe(240);
    for (let ended = 0; ended < 50; ended++) queue.end(`hangs${ended}`);
    await settled();
    expect(new Set(queue.begun).size).toBe(290);
  });

  test("gives back its quick place after a tenth of a second, however long it hangs", async () => {
    const queue = new MemoryQueue();
    const hanging = names(290, "hangs");
    await queue.prove(...hanging, "answers");
    for (const name of hanging) queue.add(name, 1);
    queue.add("answers", 1);
    void queue.lanes.wake([...hanging, "answers"]);
    await settled();
    expect([queue.inFlight.size, queue.count("answers")]).toEqual([240, 0]);
    await until("it has its turn", () => queue.count("answers") === 1);
    expect(queue.inFlight.size).toBe(291);
    await queue.lanes.stop(0);
  });

  test("gets no quick place after it was slow, until it responds quickly", async () => {
    const queue = new MemoryQueue();
    const slow = names(300, "slow");
    for (const name of slow) queue.add(name, 3);
    await queue.prove("answers");
    void queue.lanes.wake(slow);
    await settled();
    for (const name of slow) {
      while (queue.count(name) === 0) await settled();
      queue.end(name, { durationMs: 5_000 });
    }
    await settled();
    expect(slow.filter((name) => queue.count(name) > 0)).toHaveLength(300);
    queue.add("answers", 20);
    void queue.lanes.wake(["answers"]);
    await settled();
    expect(queue.count("answers")).toBe(20);
  });

  test("counts as slow, however short the timeout", async () => {
    const queue = new MemoryQueue();
    const hanging = names(300, "hangs");
    for (const name of hanging) queue.add(name, 2);
    await queue.prove("answers");
    void queue.lanes.wake(hanging);
    for (const name of hanging) {
      while (queue.count(name) === 0) await settled();
      queue.end(name, { hasFailed: true, hasTimedOut: true, durationMs: 100 });
    }
    await settled();
    queue.add("answers", 20);
    void queue.lanes.wake(["answers"]);
    await settled();
    expect([queue.inFlight.size, queue.count("answers")]).toEqual([320, 20]);
  });

  test("takes no share from a slow receiver that responds: it holds one place, however many there are", async () => {
    const queue = new MemoryQueue();
    const hanging = names(300, "hangs");
    for (const name of hanging) queue.add(name, 2);
    queue.add("slow", 50);
    void queue.lanes.wake([...hanging, "slow"]);
    for (const name of hanging) {
      while (queue.count(name) === 0) await settled();
      queue.end(name, { hasFailed: true, hasTimedOut: true, durationMs: 5_000 });
    }
    for (let answers = 0; answers < 6; answers++) {
      while (queue.count("slow") === 0) await settled();
      queue.end("slow", { durationMs: 3_000 });
      await settled();
    }
    expect(queue.count("slow")).toBe(20);
  });

  test("is detected while another job waits for its lane's turn, which the lane does not lose", async () => {
    const queue = new MemoryQueue();
    await queue.prove("a", "b");
    queue.add("a", 1);
    void queue.lanes.wake(["a"]);
    await settled();
    // In one and the same moment the attempt ends as a slow one, and more is queued for it behind others.
    queue.end("a", { durationMs: 5_000 });
    queue.add("b", 30);
    queue.add("a", 1);
    void queue.lanes.wake([...names(50, "idle"), "b", "a"]);
    await until("it has its turn", () => queue.begun.filter((name) => name === "a").length === 2);
    await queue.lanes.stop(0);
  });

  test("holds no more places than the process has descriptors for", async () => {
    const queue = new MemoryQueue(16);
    const hanging = names(100, "hangs");
    for (const name of hanging) queue.add(name, 2);
    void queue.lanes.wake(hanging);
    await settled();
    for (const name of hanging) {
      while (queue.count(name) === 0) await settled();
      queue.end(name, { durationMs: 5_000 });
    }
    await settled();
    expect(queue.inFlight.size).toBeLessThanOrEqual(16);
  });
});
