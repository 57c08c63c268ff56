import { describe, expect, test } from "bun:test";
import { type FailedAttempt, nextAttemptAt } from "../../src/deliveries/schedule.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const now = Date.UTC(2026, 10, 20, 17, 24, 0, 123);

/** The wait after a failed attempt that ended now, with the jitter in the middle where nothing else is said. */
function waitMs(failed: Partial<FailedAttempt>): number | undefined {
  const at = nextAttemptAt({
    attempt: 1,
    maxAttempts: 5,
    status: 500,
    retryAfter: null,
    now,
    baseMs: 10 * second,
    random: () => 0.5,
    ...failed,
  });
  return at === undefined ? undefined : at - now;
}

describe("the wait before the next attempt", () => {
  test.each([
    [1, 10 * second],
    [2, minute],
    [3, 6 * minute],
    [4, 36 * minute],
  ])("after attempt %i of 5 is %i ms", (attempt, expected) => {
    expect(waitMs({ attempt })).toBe(expected);
  });

  test.each([5, 6])("does not exist after attempt %i of 5", (attempt) => {
    expect(waitMs({ attempt })).toBeUndefined();
  });

  test("does not exist after the only attempt", () => {
    expect(waitMs({ maxAttempts: 1, status: 503, retryAfter: "10" })).toBeUndefined();
  });

  test("grows from the configured base", () => {
    expect(waitMs({ attempt: 3, baseMs: 50 })).toBe(1_800);
    expect(waitMs({ baseMs: 0 })).toBe(0);
  });

  test.each([
    [0, 9 * second],
    [0.25, 9.5 * second],
    [1 - Number.EPSILON, 11 * second],
  ])("has a jitter of ten per cent either way: random %f makes it %i ms", (random, expected) => {
    expect(waitMs({ random: () => random })).toBe(expected);
  });

  test("is random by default, and an integer", () => {
    for (let tries = 0; tries < 200; tries++) {
      const at = nextAttemptAt({
        attempt: 2,
        maxAttempts: 5,
        status: null,
        retryAfter: null,
        now,
        baseMs: 7,
      });
      expect(at).toBeGreaterThanOrEqual(now + 37);
      expect(at).toBeLessThanOrEqual(now + 47);
      expect(Number.isInteger(at)).toBe(true);
    }
  });

  test("ends at thirty days, however many attempts are allowed", () => {
    expect(waitMs({ attempt: 7, maxAttempts: 1000 })).toBe(466_560 * second);
    expect(waitMs({ attempt: 8, maxAttempts: 1000 })).toBe(30 * day);
    expect(waitMs({ attempt: 999, maxAttempts: 1000 })).toBe(30 * day);
  });
});

describe("Retry-After", () => {
  test.each([
    ["a longer wait in seconds", 429, "120", 2 * minute],
    ["a longer wait in seconds", 503, "120", 2 * minute],
    ["one second more than the schedule", 429, "11", 11 * second],
    ["leading zeros", 429, "00120", 2 * minute],
    ["an hour", 429, "3600", hour],
    ["more than an hour, as an hour", 429, "3601", hour],
    ["a number beyond all clocks, as an hour", 503, "99999999999999999999", hour],
    ["a number that is infinite, as an hour", 503, "9".repeat(400), hour],
    ["a date", 429, "Fri, 20 Nov 2026 17:26:00 GMT", 2 * minute - 123],
    ["a date more than an hour away, as an hour", 503, "Sat, 21 Nov 2026 17:26:00 GMT", hour],
  ])("is honoured: %s (%i, %s)", (_, status, retryAfter, expected) => {
    expect(waitMs({ status, retryAfter })).toBe(expected);
  });

  test.each([
    ["a shorter wait", 429, "9"],
    ["no wait", 503, "0"],
    ["another status", 500, "120"],
    ["another status", 302, "120"],
    ["a negative number", 429, "-1"],
    ["a signed number", 429, "+120"],
    ["a fraction", 429, "120.5"],
    ["an exponent", 429, "1e3"],
    ["hex", 429, "0x78"],
    ["digits of another script", 429, "١٢٠"],
    ["two values", 429, "120, 120"],
    ["a unit", 429, "120s"],
    ["nothing", 429, ""],
    ["a word", 503, "soon"],
    ["a date gone by", 429, "Fri, 20 Nov 2026 17:23:00 GMT"],
    ["a date without a zone", 429, "Fri, 20 Nov 2026 17:26:00"],
    ["a date in another zone", 429, "Fri, 20 Nov 2026 17:26:00 +0000"],
    ["an ISO date", 429, "2026-11-20T17:26:00Z"],
    ["an impossible date", 429, "Fri, 99 Xyz 2026 17:26:00 GMT"],
  ])("is ignored: %s (%i, %s)", (_, status, retryAfter) => {
    expect(waitMs({ status, retryAfter })).toBe(10 * second);
  });

  test("never shortens a wait of more than an hour", () => {
    expect(waitMs({ attempt: 5, maxAttempts: 9, status: 503, retryAfter: "3600" })).toBe(216 * minute);
  });
});
