import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { DomainError } from "../src/errors.ts";
import { createLog, type Log } from "../src/log.ts";

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

test("a failure that repeats itself is written once, and then its number every ten seconds and at its end", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 1_000; n++) log.error({ n, err: full }, "request.failed");
  expect(written().map(({ n }) => n)).toEqual([0]);
  jest.advanceTimersByTime(10_000);
  const said = {
    level: 50,
    of: "request.failed",
    code: "unwritable",
    lines: 999,
    msg: "log.repeats_left_out",
  };
  expect(written()).toMatchObject([said]);

  for (let n = 0; n < 5; n++) log.error({ n, err: full }, "request.failed");
  expect(written()).toHaveLength(1);
  jest.advanceTimersByTime(60_000);
  expect(written()).toMatchObject([{ ...said, lines: 4 }]);
});

test("failures are the same when their message and their code are, whichever route they come from", () => {
  const { log, written } = openLog();
  const routes = ["/a", "/b"].map((route) => log.child({ route }));
  for (const route of [...routes, ...routes]) route.error({ err: full }, "request.failed");
  for (const route of routes) route.error({ err: new TypeError("no code") }, "request.failed");
  for (const route of routes) route.error({ status: 503, err: undefined }, "request.failed");
  log.error({ err: full }, "delivery.held_up");
  expect(written()).toHaveLength(4);
});

test("lines that say no failure are written, however alike they are", () => {
  const { log, written } = openLog();
  for (let n = 0; n < 100; n++) log.info("request.handled");
  for (let n = 0; n < 100; n++) log.error({ webhook: n, reason: "no key" }, "webhook.secret_unreadable");
  expect(written()).toHaveLength(200);
});
