import { describe, expect, test } from "bun:test";
import { RateLimit } from "../../src/http/rate-limit.ts";

/** A limit of `limit` requests under a clock that the test sets: 20:00:00.250 on some day, in milliseconds. */
function limitUnderClock(limit: number) {
  const clock = { now: Date.UTC(2026, 10, 20, 20, 0, 0, 250) };
  return { clock, rateLimit: new RateLimit(limit, { now: () => clock.now }) };
}

describe("the rate limit", () => {
  test("allows as many requests as it says, counts them down and refuses the next", () => {
    const { rateLimit } = limitUnderClock(3);
    const standings = [1, 2, 3, 4, 5].map(() => rateLimit.take("token"));
    expect(standings.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, false, false]);
    expect(standings.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0, 0]);
    expect(standings.map((standing) => standing.limit)).toEqual([3, 3, 3, 3, 3]);
  });

  test("counts each key separately", () => {
    const { rateLimit } = limitUnderClock(1);
    expect(rateLimit.take("one").isAllowed).toBe(true);
    expect(rateLimit.take("one").isAllowed).toBe(false);
    expect(rateLimit.take("other").isAllowed).toBe(true);
  });

  test("opens again 60 seconds after the first request, and not a millisecond before", () => {
    const { rateLimit, clock } = limitUnderClock(1);
    rateLimit.take("token");
    clock.now += 59_999;
    expect(rateLimit.take("token").isAllowed).toBe(false);
    clock.now += 1;
    expect(rateLimit.take("token")).toMatchObject({ isAllowed: true, remaining: 0 });
  });

  test("does not extend the wait for refused requests", () => {
    const { rateLimit, clock } = limitUnderClock(1);
    rateLimit.take("token");
    for (let second = 0; second < 60; second++) {
      expect(rateLimit.take("token").isAllowed).toBe(false);
      clock.now += 1_000;
    }
    expect(rateLimit.take("token").isAllowed).toBe(true);
  });

  test("marks the first refusal of each window", () => {
    const { rateLimit, clock } = limitUnderClock(1);
    const first = () => rateLimit.take("token").isFirstRefusal;
    expect([first(), first(), first()]).toEqual([false, true, false]);
    clock.now += 60_000;
    expect([first(), first(), first()]).toEqual([false, true, false]);
  });

  test("reports the end of the window and the wait in whole seconds, never too short", () => {
    const { rateLimit, clock } = limitUnderClock(1);
    const endsAt = clock.now + 60_000;
    rateLimit.take("token");
    for (const passed of [0, 1, 30_500, 59_999]) {
      const now = endsAt - 60_000 + passed;
      clock.now = now;
      const { resetsAt, retryAfterSeconds } = rateLimit.take("token");
      expect(resetsAt).toBe(Math.ceil(endsAt / 1000));
      expect(now + retryAfterSeconds * 1000).toBeGreaterThanOrEqual(endsAt);
      expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    }
  });

  test("forgets the keys whose windows have ended", () => {
    const { rateLimit, clock } = limitUnderClock(1);
    for (let key = 0; key < 1_000; key++) rateLimit.take(`token ${key}`);
    expect(rateLimit.size).toBe(1_000);
    clock.now += 60_000;
    rateLimit.take("a late one");
    expect(rateLimit.size).toBe(1);
  });
});
