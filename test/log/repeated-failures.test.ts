import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { DomainError } from "../../src/errors.ts";
import { createLog, type Log } from "../../src/log/log.ts";

type Line = Record<string, unknown> & { msg: string };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A log, and its output since the last look. */
function openLog(): { log: Log; written: () => Line[] } {
  const lines: Line[] = [];
  const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line) as Line) });
  return { log, written: () => lines.splice(0) };
}

const full = new DomainError("unwritable", "The disk is full.");

test("a repeated failure is written three times, then as a number every ten seconds and at exit", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 1_000; n++) log.error({ n, err: full }, "request.failed");
  expect(written().map(({ n }) => n)).toEqual([0, 1, 2]);
  jest.advanceTimersByTime(10_000);
  const repeats = {
    level: 50,
    of: "request.failed",
    code: "unwritable",
    lines: 997,
    msg: "log.repeats_left_out",
  };
  expect(written()).toMatchObject([repeats]);

  for (let n = 0; n < 5; n++) log.error({ n, err: full }, "request.failed");
  expect(written()).toHaveLength(3);
  jest.advanceTimersByTime(60_000);
  expect(written()).toMatchObject([{ ...repeats, lines: 2 }]);
});

test("failures with the same message and code are the same, whichever route they come from", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 10; n++) log.child({ route: `/${n}` }).error({ err: full }, "request.failed");
  expect(written()).toHaveLength(3);
  jest.advanceTimersByTime(10_000);
  expect(written()).toMatchObject([{ of: "request.failed", lines: 7 }]);
});

test("each kind of failure is written, with no more than ten lines per second altogether", () => {
  const { log, written } = openLog();
  const kinds = [full, new TypeError("no code"), new RangeError("nor this"), "a text"];
  for (let n = 0; n < 100; n++) for (const err of kinds) log.error({ err }, "request.failed");
  const lines = written();
  expect(lines.length).toBeLessThanOrEqual(10 - kinds.length);
  expect(new Set(lines.map(({ err }) => (err as { message: string }).message)).size).toBe(kinds.length);
  jest.advanceTimersByTime(10_000);
  const output = written();
  expect(output).toHaveLength(kinds.length);
  expect(output.reduce((sum, line) => sum + Number(line.lines), 0)).toBe(400 - lines.length);
});

test("lines without a failure are written, however similar they are", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 100; n++) log.info("request.handled");
  for (let n = 0; n < 100; n++) log.error({ webhook: n, reason: "no key" }, "webhook.secret_unreadable");
  expect(written()).toHaveLength(200);
});
