import { describe, expect, test } from "bun:test";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { newId, now, randomBytes, randomNumber, repeatable } from "../../src/system/repeatable.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";

const drawAll = () => ({ id: newId(), at: now(), number: randomNumber(), bytes: randomBytes(12) });

describe("a change that runs again", () => {
  test("draws the same ids, moments, numbers, bytes and secrets, and then new ones", () => {
    const log: unknown[] = [];
    const first = repeatable(log, () => [drawAll(), newSecret("ply_bot_")]);
    const second = repeatable(log, () => [drawAll(), newSecret("ply_bot_"), drawAll()] as const);
    expect(second.slice(0, 2)).toEqual(first);
    const drawn = [first[0], second[2]] as const;
    expect(new Set(drawn.map((values) => (values as { id: string }).id)).size).toBe(2);
    expect(repeatable(log, () => [drawAll(), newSecret("ply_bot_"), drawAll()] as const)).toEqual(second);
  });

  test("draws from its own log only, also while others run at the same time", async () => {
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const change = async () => {
      const ids = [newId()];
      await turn();
      ids.push(newId());
      await turn();
      return [...ids, newId()];
    };
    const logs: unknown[][] = Array.from({ length: 5 }, () => []);
    const runAll = async () => await Promise.all(logs.map((log) => repeatable(log, change)));
    const first = await runAll();
    const outside = newId();
    expect(await runAll()).toEqual(first);
    expect(new Set([...first.flat(), outside]).size).toBe(16);
    expect(logs).toEqual(first);
  });

  test("is stopped when it draws something else than before", () => {
    const log: unknown[] = [];
    repeatable(log, newId);
    expect(() => repeatable(log, now)).toThrow("does not draw the same values again");
    const bytes: unknown[] = [];
    repeatable(bytes, () => randomBytes(8));
    expect(() => repeatable(bytes, () => randomBytes(16))).toThrow("does not draw the same values again");
  });
});

describe("elsewhere", () => {
  test("each value is drawn anew, and is what it says", () => {
    // An earlier file of this process may have followed a database's clock.
    const before = workspaceTime();
    const values = Array.from({ length: 100 }, drawAll);
    for (const { id, at, number, bytes } of values) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(at).toBeWithin(before, workspaceTime() + 1);
      expect(number).toBeWithin(0, 1);
      expect(bytes).toHaveLength(12);
    }
    expect(new Set(values.map(({ id }) => id)).size).toBe(100);
    expect(new Set(values.map(({ bytes }) => bytes.toString("hex"))).size).toBe(100);
  });
});
