import { AsyncLocalStorage } from "node:async_hooks";

type Drawn = { readonly log: unknown[]; next: number };

const runs = new AsyncLocalStorage<Drawn>();

/**
 * Runs a function that may have to run again: the ids, moments and random bytes that it draws are kept in `log`, and a later run with the same
 * log draws the same values in the same order.
 */
export function repeatable<T>(log: unknown[], run: () => T): T {
  return runs.run({ log, next: 0 }, run);
}

/** Returns what `draw` returns or, in a run that repeats another, what it returned there. */
function drawn<T>(draw: () => T): T {
  const run = runs.getStore();
  if (!run) return draw();
  if (run.next === run.log.length) run.log.push(draw());
  return run.log[run.next++] as T;
}

// What changes draw today, they draw from these functions.
const { randomUUIDv7 } = Bun;
const { now } = Date;
const getRandomValues = crypto.getRandomValues.bind(crypto);
Object.assign(Bun, { randomUUIDv7: () => drawn(() => randomUUIDv7()) });
Object.assign(Date, { now: () => drawn(now) });
Object.assign(crypto, {
  getRandomValues<T extends Uint8Array>(bytes: T): T {
    bytes.set(drawn(() => Uint8Array.from(getRandomValues(new Uint8Array(bytes.length)))));
    return bytes;
  },
});
