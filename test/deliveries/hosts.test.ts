import { describe, expect, test } from "bun:test";
import { hostOf } from "../../src/deliveries/hosts.ts";
import { Random } from "../crash/random.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

/** What is left of the 60 places of a host to a team alone: seven eighths of all but the last one. */
const ofOneTeam = 52;

const names = (count: number, prefix = "s") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** A queue in which these subscriptions are all at one host. */
function queueAt(subscriptions: string[]): MemoryQueue {
  const queue = new MemoryQueue();
  for (const subscription of subscriptions) queue.hosts.set(subscription, "one.example:8080");
  return queue;
}

function sent(queue: MemoryQueue, subscriptions: string[]): number {
  return subscriptions.reduce((sum, name) => sum + queue.count(name), 0);
}

describe("requests to one host", () => {
  test("are limited to 52 at once for one team, whatever its receivers' track records, and all are sent in the end", async () => {
    const all = names(300);
    const queue = queueAt(all);
    await queue.prove(...all.slice(0, 100));
    for (const name of all) queue.add(name, 2);
    void queue.lanes.wake(all);
    await settled();
    for (let ended = 0; ended < 600; ended++) {
      expect(queue.inFlight.size).toBe(Math.min(ofOneTeam, 600 - ended));
      const [[, attempt] = []] = queue.inFlight;
      attempt?.end({ durationMs: ended % 3 === 0 ? 5_000 : 0 });
      await settled();
    }
    expect(all.flatMap((name) => queue.jobs.get(name))).toEqual([]);
  });

  test("count at the host of the URL that the subscription has by now, and slow start begins anew there", async () => {
    const moved = names(70, "moved");
    const queue = new MemoryQueue();
    await queue.prove(...moved);
    for (const name of moved) {
      queue.urls.set(name, "http://one.example:8080/");
      queue.add(name, 3);
    }
    void queue.lanes.wake(moved);
    await settled();
    expect(queue.inFlight.size).toBe(ofOneTeam);
    expect(Math.max(...moved.map((name) => queue.count(name)))).toBe(1);
  });

  test("that wait delay none to another host, and query nothing meanwhile", async () => {
    const all = names(300);
    const queue = queueAt(all);
    await queue.prove("elsewhere");
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    expect([queue.inFlight.size, queue.asked.size]).toEqual([ofOneTeam, ofOneTeam]);
    queue.add("elsewhere", 30);
    queue.add("new");
    void queue.lanes.wake(["elsewhere", "new"]);
    await settled();
    expect([queue.count("elsewhere"), queue.count("new")]).toEqual([20, 1]);
    void queue.lanes.wake(all);
    await settled();
    expect([queue.inFlight.size, queue.asked.size]).toEqual([ofOneTeam + 21, ofOneTeam + 2]);
    await queue.lanes.stop(0);
  });

  test("for known receivers leave a new one its turn", async () => {
    const all = names(100);
    const queue = queueAt([...all, "new"]);
    await queue.prove(...all);
    for (const name of all) queue.add(name, 10);
    void queue.lanes.wake(all);
    await settled();
    queue.add("new");
    void queue.lanes.wake(["new"]);
    for (let ended = 0; ended < 101; ended++) {
      const [[, attempt] = []] = queue.inFlight;
      attempt?.end();
      await settled();
    }
    expect(queue.begun).toContain("new");
    await queue.lanes.stop(0);
  });

  test("start at once for a team that has none in flight, however many other teams have", async () => {
    const all = names(100);
    const queue = queueAt([...all, "other"]);
    queue.teams.set("other", "other team");
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    queue.add("other");
    void queue.lanes.wake(["other"]);
    await settled();
    expect([queue.count("other"), sent(queue, all)]).toEqual([1, ofOneTeam]);
    await queue.lanes.stop(0);
  });

  test("are limited to 60 at once for all teams, and the team with the fewest in flight goes next", async () => {
    const all = names(100);
    const others = names(20, "other");
    const queue = queueAt([...all, ...others]);
    for (const name of others) queue.teams.set(name, "other team");
    for (const name of [...all, ...others]) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    void queue.lanes.wake(others);
    await settled();
    expect(queue.inFlight.size).toBeWithin(58, 61);
    expect(sent(queue, others)).toBe(7);
    for (let ended = 0; ended < 5; ended++) queue.end(`s${ended}`);
    await settled();
    // Seven eighths of the twelve places that the 47 of the first team leave, but for the last one.
    expect(sent(queue, others)).toBe(11);
    expect(queue.inFlight.size).toBeWithin(58, 61);
    await queue.lanes.stop(0);
  });

  test("pass the place on if a lane that waited has nothing left to send", async () => {
    const all = names(100);
    const queue = queueAt(all);
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    for (const name of all.slice(ofOneTeam, 99))
      for (const { eventSeq } of queue.jobs.get(name) ?? []) queue.drop(eventSeq);
    queue.end("s0");
    await settled();
    expect([queue.count("s99"), queue.inFlight.size]).toEqual([1, ofOneTeam]);
    await queue.lanes.stop(0);
  });

  test("do not start after a stop", async () => {
    const all = names(100);
    const queue = queueAt(all);
    for (const name of all) queue.add(name);
    void queue.lanes.wake(all);
    await settled();
    const stopping = queue.lanes.stop(60_000);
    for (let ended = 0; ended < ofOneTeam; ended++) queue.end(`s${ended}`);
    await stopping;
    expect(queue.begun).toHaveLength(ofOneTeam);
  });
});

test.each([1, 2, 3, 4])(
  "any mix of teams, hosts and outcomes ends with everything sent (seed %d)",
  async (seed) => {
    const random = new Random(seed);
    const queue = new MemoryQueue(random.pick([40, 300, 2_000]));
    const all = names(400);
    for (const name of all) {
      queue.teams.set(name, `team ${random.between(1, random.between(1, 8))}`);
      queue.hosts.set(name, `host${random.between(1, random.between(1, 5))}`);
    }
    let left = 2_000;
    let added = 0;
    while (left > 0) {
      const woken = names(random.between(0, added < 2_000 ? 80 : 0)).map(() => random.pick(all));
      for (const name of woken) if (added++ < 2_000) queue.add(name);
      void queue.lanes.wake(woken);
      await settled();
      const perHost = Map.groupBy(queue.inFlight.values(), ({ subscription }) =>
        queue.hosts.get(subscription),
      );
      for (const inFlight of perHost.values()) expect(inFlight.length).toBeLessThanOrEqual(60);
      if (added >= 2_000) expect(queue.inFlight.size).toBeGreaterThan(0);
      for (const [, attempt] of [...queue.inFlight].slice(0, random.between(1, 100))) {
        attempt.end({ durationMs: random.pick([0, 0, 0, 5_000]) });
        left--;
      }
      await settled();
    }
    expect([...queue.jobs.values()].flat()).toEqual([]);
  },
);

test.each([
  ["http://Example.com/a", "http://example.com:80/b?c", true],
  ["http://example.com./", "http://example.com/", true],
  ["http://example.com/", "https://example.com/", true],
  ["http://example.com/", "http://example.com:8080/", false],
  ["http://a.example.com/", "http://b.example.com/", false],
  ["http://[2001:db8::1]:8080/", "http://[2001:DB8:0::1]:8080/", true],
])("%s and %s are one host: %p", (one, other, isOne) => {
  expect(hostOf(one) === hostOf(other)).toBe(isOne);
});
