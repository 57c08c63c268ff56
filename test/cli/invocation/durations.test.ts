import { expect, test } from "bun:test";
import { parseDuration } from "../../../cli/invocation/durations.ts";

const dayMs = 86_400_000;

test.each([
  ["1s", 1_000],
  ["15m", 900_000],
  ["12h", dayMs / 2],
  ["90d", 90 * dayMs],
  ["8w", 56 * dayMs],
  ["36525d", 36_525 * dayMs],
])("the span %s is %d milliseconds", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  ["", "number and a unit"],
  ["90", "number and a unit"],
  ["d", "number and a unit"],
  ["-1d", "number and a unit"],
  ["1.5h", "number and a unit"],
  ["3y", "number and a unit"],
  ["1d ", "number and a unit"],
  ["0d", "longer than zero"],
  ["36526d", "100 years"],
  ["9999999999w", "100 years"],
])("the span %j is refused with what it takes", (text, why) => {
  expect(() => parseDuration(text)).toThrow(why);
});
