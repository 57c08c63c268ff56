import { expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

const names = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Has the receivers answer slowly, so that their next attempts begin among the slow ones. */
async function slowDown(queue: MemoryQueue, subscriptions: string[]): Promise<void> {
  for (const name of subscriptions) queue.add(name);
  void queue.lanes.wake(subscriptions);
  await settled();
  for (const name of subscriptions) {
    await until(`${name} has its turn`, () => queue.count(name) > 0);
    queue.end(name, { durationMs: 2_000 });
    await settled();
  }
}

function inFlight(queue: MemoryQueue, subscriptions: string[]): number {
  return subscriptions.filter((name) => queue.count(name) > 0).length;
}

test("a lane that waits for its pool and for its host gets its turn, however busy both are", async () => {
  const queue = new MemoryQueue({ quick: 275, new: 293, slow: 8 });
  const hanging = names(20, "hangs");
  const busy = names(80, "busy");
  for (const name of hanging) queue.teams.set(name, `team of ${name}`);
  for (const name of [...busy, "x"]) queue.hosts.set(name, "one.example");
  for (const name of busy) queue.teams.set(name, "busy team");
  await slowDown(queue, [...hanging, "x"]);
  for (const name of busy) queue.add(name, 100);
  for (const name of hanging) queue.add(name, 50);
  void queue.lanes.wake([...busy, ...hanging]);
  await settled();
  queue.begun.length = 0;
  queue.add("x");
  void queue.lanes.wake(["x"]);
  const end = (kind: string, durationMs: number) =>
    [...queue.inFlight.values()]
      .find(({ subscription }) => subscription.startsWith(kind))
      ?.end({ durationMs });
  for (let ended = 0; ended < 600; ended++) {
    end("busy", 0);
    await settled();
    if (ended % 3 === 0) end("hangs", 2_000);
    await settled();
  }
  expect(queue.begun).toContain("x");
  await queue.lanes.stop(0);
});

test("a lane whose receiver has become quick does not wait behind those that hang", async () => {
  const queue = new MemoryQueue(60);
  const hanging = names(60, "hangs");
  await slowDown(queue, [...hanging, "answers"]);
  for (const names of [["answers"], hanging, ["answers"]]) {
    for (const name of names) queue.add(name);
    void queue.lanes.wake(names);
    await settled();
  }
  queue.end("answers", { durationMs: 10 });
  await settled();
  expect(queue.count("answers")).toBe(1);
  await queue.lanes.stop(0);
});

test("an attempt for which the slow pool had no room gives its place back as soon as there is some", async () => {
  const queue = new MemoryQueue(60);
  const slow = names(60, "slow");
  const fresh = names(60, "new");
  await slowDown(queue, slow);
  for (const name of slow) queue.add(name);
  void queue.lanes.wake(slow);
  await settled();
  for (const name of fresh) queue.add(name);
  void queue.lanes.wake(fresh);
  await settled();
  const before = inFlight(queue, fresh);
  await Bun.sleep(150);
  for (const name of slow) if (queue.count(name) > 0) queue.end(name, { durationMs: 2_000 });
  await until("more of the new ones are in flight", () => inFlight(queue, fresh) > before);
  await queue.lanes.stop(0);
});

test("prefetched jobs do not overtake those that enabling puts before them", async () => {
  const queue = new MemoryQueue();
  const order: number[] = [];
  const all = queue.add("s", 8);
  void queue.lanes.wake(["s"]);
  for (let failed = 0; failed < 2; failed++) {
    await settled();
    queue.end("s", { hasFailed: true });
  }
  await settled();
  // Those that failed, as enabling puts them.
  const again = queue.add("s", 2, -1);
  queue.failures.delete("s");
  void queue.lanes.wake(["s"]);
  await settled();
  while (queue.inFlight.size > 0) {
    order.push(...queue.inFlight.keys());
    for (const { end } of queue.inFlight.values()) end();
    await settled();
  }
  expect(order).toEqual([...again, ...all.slice(2)]);
  await queue.lanes.stop(0);
});

test("another team's attempts leave a healthy receiver its share", async () => {
  const queue = new MemoryQueue();
  const others = names(150, "other");
  for (const name of others) queue.teams.set(name, "other team");
  await queue.prove("quick");
  await queue.prove(...others);
  for (const name of others) queue.add(name);
  void queue.lanes.wake(others);
  await settled();
  queue.add("quick", 50);
  void queue.lanes.wake(["quick"]);
  await settled();
  expect(queue.count("quick")).toBe(20);
  await queue.lanes.stop(0);
});

test("receivers that began to hang keep no places from another one of their team", async () => {
  const queue = new MemoryQueue();
  const hanging = names(300, "hangs");
  await queue.prove(...hanging, "quick");
  for (const name of hanging) queue.add(name);
  void queue.lanes.wake(hanging);
  await until("all hang", () => inFlight(queue, hanging) === hanging.length);
  await Bun.sleep(150);
  queue.add("quick", 50);
  void queue.lanes.wake(["quick"]);
  await settled();
  expect(queue.count("quick")).toBe(20);
  await queue.lanes.stop(0);
});
