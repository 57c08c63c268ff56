import { expect, test } from "bun:test";
import { timestamp } from "../src/timestamp.ts";

const dayMs = 86_400_000;

test("a time is shown to the millisecond, with a numeric offset", () => {
  expect(timestamp(Date.UTC(2026, 10, 20, 17, 24, 0, 123))).toBe("2026-11-20T17:24:00.123+00:00");
  expect(timestamp(null)).toBeNull();
});

test("every time is the one that the runtime shows, on whichever days the times fall", () => {
  const days = ["1969-12-31", "1970-01-01", "2000-02-29", "2026-12-31", "9999-12-31"];
  const starts = days.map((day) => Date.parse(day));
  for (let step = 0; step < dayMs; step += 7_654_321) {
    for (const start of [...starts, ...starts]) {
      for (const at of [start + step, start + dayMs - 1])
        expect(timestamp(at)).toBe(new Date(at).toISOString().replace("Z", "+00:00"));
    }
  }
});
