import { expect, test } from "bun:test";
import { relativeTime } from "../../../cli/terminal/relative-time.ts";

const now = Date.parse("2026-11-20T12:00:00.000Z");
const second = 1_000;
const hour = 3_600 * second;
const day = 24 * hour;

test.each([
  [0, "just now"],
  [-20 * second, "just now"],
  [-3 * 60 * second, "3m ago"],
  [-90 * 60 * second, "90m ago"],
  [-5 * hour, "5h ago"],
  [-3 * day, "3d ago"],
  [-150 * day, "5mo ago"],
  [-3 * 365 * day, "3y ago"],
  [12 * hour - second, "in 12h"],
  [90 * day - second, "in 90d"],
])("a time %d milliseconds from now is %s", (distance, words) => {
  expect(relativeTime(new Date(now + distance).toISOString(), now)).toBe(words);
});

test("null is never", () => {
  expect(relativeTime(null, now)).toBe("never");
});
