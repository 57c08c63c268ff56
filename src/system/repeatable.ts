import { AsyncLocalStorage } from "node:async_hooks";
import { workspaceTime } from "./workspace-clock.ts";

/** One run of a change: what was drawn so far, in this run or the one before, and how much of it this run has used. */
type Run = { drawn: unknown[]; used: number };

/** Made with the first run: a process that has one pays for it with each request, and SQLite needs none. */
let runs: AsyncLocalStorage<Run> | undefined;

/**
 * Runs a change that may have to run again. What it draws from this module goes into the log; with the same log a later
 * run gets the same values in the same order, and draws new ones only beyond them.
 * @throws Error when a run draws something else than the one before it did.
 */
export function repeatable<T>(log: unknown[], run: () => T): T {
  runs ??= new AsyncLocalStorage();
  return runs.run({ drawn: log, used: 0 }, run);
}

/** A new UUID version 7. */
export function newId(): string {
  return draw(() => Bun.randomUUIDv7(), isText);
}

/** The time by the clock of the workspace, in milliseconds since 1970. */
export function now(): number {
  return draw(workspaceTime, isNumber);
}

/** A number in [0, 1). Not for secrets. */
export function randomNumber(): number {
  return draw(Math.random, isNumber);
}

/** Random bytes, fit for secrets. They must not be modified: a later run gets the same ones. */
export function randomBytes(length: number): Buffer {
  return draw(
    () => crypto.getRandomValues(Buffer.alloc(length)),
    (value): value is Buffer => Buffer.isBuffer(value) && value.length === length,
  );
}

function draw<Value>(make: () => Value, isValue: (value: unknown) => value is Value): Value {
  const run = runs?.getStore();
  if (run === undefined) return make();
  const { drawn } = run;
  if (run.used === drawn.length) drawn.push(make());
  const value = drawn[run.used++];
  if (isValue(value)) return value;
  throw new Error(
    "A change does not draw the same values again: something outside of it decides what it does.",
  );
}

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
