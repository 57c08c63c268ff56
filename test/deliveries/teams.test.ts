import { describe, expect, test } from "bun:test";
import { Turns } from "../../src/deliveries/turns.ts";
import { until } from "../support/conditions.ts";
import { MemoryQueue, settled } from "./memory-queue.ts";

/** A queue in which these subscriptions are of teams of their own. */
function queueOf(teams: Record<string, string[]>, atOnce?: number): MemoryQueue {
  const queue = new MemoryQueue(atOnce);
  for (const [team, subscriptions] of Object.entries(teams)) {
    for (const subscription of subscriptions) queue.teams.set(subscription, team);
  }
  return queue;
}

const names = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Has each of the subscriptions hang with one request, as far as there are places. */
function hang(queue: MemoryQueue, subscriptions: string[]): void {
  for (const subscription of subscriptions) queue.add(subscription);
  void queue.lanes.wake(subscriptions);
}

describe("turns", () => {
  test("alternate by team, then by subscription, however many subscriptions a team has", async () => {
    const many = ["a", "b", "c"];
    const queue = queueOf({ large: many, small: ["x"] });
    await queue.prove(...many, "x");
    for (const name of [...many, "x"]) queue.add(name, 2);
    void queue.lanes.wake([...many, "x"]);
    await settled();
    expect(queue.begun).toEqual(["a", "x", "b", "x", "c", "a", "b", "c"]);
  });

  test("go to the team with the fewest attempts in flight", async () => {
    const many = names(300, "many");
    const queue = queueOf({ large: many, small: ["x", "y"] });
    await queue.prove(...many, "x", "y");
    hang(queue, many);
    await settled();
    hang(queue, ["x", "y"]);
    void queue.lanes.wake(many);
    await settled();
    expect([queue.count("x"), queue.count("y")]).toEqual([1, 1]);
    queue.add("x", 3);
    for (const left of [3, 2, 1]) {
      queue.end("x");
      await settled();
      expect([queue.count("x"), queue.begun.at(-1)]).toEqual([left, "x"]);
    }
    await queue.lanes.stop(0);
  });

  test("cost the same however many subscriptions wait", () => {
    const turns = new Turns<{ teamId: string }>();
    const count = 300_000;
    for (let nth = 0; nth < count; nth++) turns.push({ teamId: `team ${nth % 1_000}` });
    const startedAt = performance.now();
    for (let nth = 0; nth < count; nth++) {
      const { teamId = "" } = turns.shift() ?? {};
      turns.begin(teamId);
      if (nth >= 1_000) turns.end(`team ${nth % 1_000}`);
    }
    expect([turns.length, turns.fewest]).toEqual([0, undefined]);
    // A turn that passed over all others would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});

describe("a team with any number of endpoints that hang", () => {
  test("leaves a free place for a team that comes later, for new and for known receivers", async () => {
    const hanging = names(400, "hangs");
    const queue = queueOf({ hog: hanging, other: ["known", "new"] });
    await queue.prove("known");
    hang(queue, hanging);
    await settled();
    hang(queue, ["known", "new"]);
    await settled();
    expect([queue.count("known"), queue.count("new")]).toEqual([1, 1]);
    await queue.lanes.stop(0);
  });

  test("holds at most 1,024 slow places and 256 new ones, and other teams still get theirs at once", async () => {
    const hanging = names(1_500, "hangs");
    const others = names(30, "other");
    const queue = queueOf({ hog: hanging, other: others });
    hang(queue, hanging);
    await until("it has all that it may have", () => queue.inFlight.size === 1_280);
    hang(queue, others);
    await settled();
    expect(others.map((name) => queue.count(name))).toEqual(others.map(() => 1));
    await until("places were asked for", () => queue.inFlight.size === 1_310);
    await queue.lanes.stop(0);
  });

  test("shares equally with other such teams, and leaves a place for one more team", async () => {
    const teams = Object.fromEntries(names(10, "team").map((team) => [team, names(100, `${team} `)]));
    const queue = queueOf({ ...teams, last: ["x"] });
    const all = Object.values(teams).flat();
    hang(queue, all);
    await settled();
    const counts = Object.values(teams).map((own) => own.reduce((sum, name) => sum + queue.count(name), 0));
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    hang(queue, ["x"]);
    await settled();
    expect(queue.count("x")).toBe(1);
    await queue.lanes.stop(0);
  });

  test("takes no share from another team's subscription that may have several attempts at once", async () => {
    const hanging = names(200, "hangs");
    const queue = queueOf({ hog: hanging, other: ["x"] });
    await queue.prove(...hanging, "x");
    hang(queue, hanging.slice(0, 60));
    await settled();
    queue.add("x", 50);
    void queue.lanes.wake(["x"]);
    await settled();
    expect(queue.count("x")).toBe(20);
    await queue.lanes.stop(0);
  });

  test.each([1, 3, 6, 12, 30])("starves no subscription with %d places in total", async (places) => {
    const hanging = names(20, "hangs");
    const queue = queueOf({ hog: hanging, other: ["x"] }, places);
    hang(queue, [...hanging, "x"]);
    await settled();
    const atOnce = Math.max(3, places);
    for (let ended = 0; ended < 21; ended++) {
      expect(queue.inFlight.size).toBeWithin(1, atOnce + 1);
      const [[, attempt] = []] = queue.inFlight;
      attempt?.end();
      await settled();
    }
    expect(new Set(queue.begun)).toEqual(new Set([...hanging, "x"]));
    await queue.lanes.stop(0);
  });

  test.each([6, 12, 30])("leaves a place for another team with %d places in total", async (places) => {
    const hanging = names(50, "hangs");
    const queue = queueOf({ hog: hanging, other: ["x"] }, places * 2);
    hang(queue, hanging);
    await settled();
    hang(queue, ["x"]);
    await until("it has its turn", () => queue.count("x") === 1);
    await queue.lanes.stop(0);
  });
});
