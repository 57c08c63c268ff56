import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { DomainError } from "../../src/errors.ts";
import { createLog, type Log } from "../../src/log/log.ts";

type Line = Record<string, unknown> & { msg: string };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A log, and what was written to it since the last look. */
function openLog(): { log: Log; written: () => Line[] } {
  const lines: Line[] = [];
  const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line) as Line) });
  return { log, written: () => lines.splice(0) };
}

const full = new DomainError("unwritable", "The disk is full.");

test("a failure that repeats itself is written three times, and then its number every ten seconds and at its end", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 1_000; n++) log.error({ n, err: full }, "request.failed");
  expect(written().map(({ n }) => n)).toEqual([0, 1, 2]);
  jest.advanceTimersByTime(10_000);
  const said = {
    level: 50,
    of: "request.failed",
    code: "unwritable",
    lines: 997,
    msg: "log.repeats_left_out",
  };
  expect(written()).toMatchObject([said]);

  for (let n = 0; n < 5; n++) log.error({ n, err: full }, "request.failed");
  expect(written()).toHaveLength(3);
  jest.advanceTimersByTime(60_000);
  expect(written()).toMatchObject([{ ...said, lines: 2 }]);
});

test("failures are the same when their message and their code are, whichever route they come from", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 10; n++) log.child({ route: `/${n}` }).error({ err: full }, "request.failed");
  expect(written()).toHaveLength(3);
  jest.advanceTimersByTime(10_000);
  expect(written()).toMatchObject([{ of: "request.failed", lines: 7 }]);
});

test("each kind of failure is written, and all together come to no more than ten lines in a second", () => {
  const { log, written } = openLog();
  const kinds = [full, new TypeError("no code"), new RangeError("nor this"), "a text"];
  for (let n = 0; n < 100; n++) for (const err of kinds) log.error({ err }, "request.failed");
  const lines = written();
  expect(lines.length).toBeLessThanOrEqual(10 - kinds.length);
  expect(new Set(lines.map(({ err }) => (err as { message: string }).message)).size).toBe(kinds.length);
  jest.advanceTimersByTime(10_000);
  const said = written();
  expect(said).toHaveLength(kinds.length);
  expect(said.reduce((sum, line) => sum + Number(line.lines), 0)).toBe(400 - lines.length);
});

test("lines that say no failure are written, however alike they are", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 100; n++) log.info("request.handled");
  for (let n = 0; n < 100; n++) log.error({ webhook: n, reason: "no key" }, "webhook.secret_unreadable");
  expect(written()).toHaveLength(200);
});
