import { afterEach, expect, setSystemTime, test } from "bun:test";
import { openPostgres } from "../../src/database/postgres/open.ts";
import { QueueClock } from "../../src/deliveries/queue-clock.ts";
import { now } from "../../src/system/repeatable.ts";
import { followClock } from "../../src/system/workspace-clock.ts";
import { freshDatabase } from "../support/postgres.ts";

const hourMs = 3_600_000;

afterEach(() => {
  setSystemTime();
  // Other tests of this process go by their own clock again.
  followClock(Date.now(), performance.now());
});

for (const [is, aheadMs] of [
  ["ahead", hourMs],
  ["behind", -hourMs],
] as const) {
  test(`a node whose clock is an hour ${is} goes by that of the database`, async () => {
    await using fresh = await freshDatabase();
    const before = Date.now();
    setSystemTime(before + aheadMs);
    const database = await openPostgres(fresh.url);
    const clock = await QueueClock.start(database);
    const times = [now(), clock.now()];
    await database.close();
    setSystemTime();
    const after = Date.now();
    // Minutes may pass on a busy machine, but no hour.
    for (const time of times) {
      expect(time).toBeGreaterThan(before - hourMs / 2);
      expect(time).toBeLessThan(after + hourMs / 2);
    }
  });
}

test("what rounding explains is no difference between clocks", () => {
  const here = Date.now();
  setSystemTime(here);
  for (const theirs of [here - 1, here, here + 1.5]) {
    followClock(theirs, performance.now());
    expect(now()).toBe(here);
  }
});
