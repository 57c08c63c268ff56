import { expect, test } from "bun:test";
import { byteSize, counted, dueText, timeSpan } from "../../../cli/terminal/quantity.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [1_234_567, "1.2 MB"],
  [9_949_999, "9.9 MB"],
  [9_960_000, "10 MB"],
  [999_400_000, "999 MB"],
  [999_999_999, "1.0 GB"],
  [34_567_890_123, "35 GB"],
  [2e18, "2000 PB"],
])("%d bytes are written as %s", (bytes, text) => {
  expect(byteSize(bytes)).toBe(text);
});

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1_500, "2 s"],
  [119_000, "119 s"],
  [180_000, "3 min"],
  [47 * 3_600_000, "47 h"],
  [3 * 86_400_000, "3 d"],
])("a span of %d milliseconds is written as %s", (ms, text) => {
  expect(timeSpan(ms)).toBe(text);
});

test("a count has its noun in the right number", () => {
  expect([0, 1, 1_204].map((count) => counted(count, "job"))).toEqual(["no jobs", "1 job", "1,204 jobs"]);
  expect(counted(2, "entry", "entries")).toBe("2 entries");
});

test("what is due says when it will be, or for how long it has been", () => {
  const now = Date.parse("2026-05-04T10:00:00Z");
  expect(dueText("2026-05-04T10:03:00Z", now)).toBe("in 3 min");
  expect(dueText("2026-05-04T09:59:55Z", now)).toBe("due 5 s ago");
});
