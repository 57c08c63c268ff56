import { selectCommitsUnderWay } from "../database/postgres/commits-under-way.ts";
import type { Connections } from "../database/postgres/connections.ts";

/** The first pause between looks at commits that are under way, in milliseconds; it doubles up to the longest. */
const pauseMs = 1;
const pauseMsMax = 100;

/** For how long a reader waits for commits that are under way, in milliseconds. */
const patienceMs = 1_000;

/**
 * Up to which event no further one will be committed. On SQLite that is any event, since they are numbered in the order
 * of their commits. On PostgreSQL several commits are under way at once, so an event may be committed after one with a
 * higher number; then a look finds the newest event, and waits for the commits that were under way.
 */
export class Horizon {
  readonly #connections: Connections | undefined;
  readonly #onLate: () => void;
  #known: number;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** `connections` are those of PostgreSQL. `onLate` is called after a look that somebody did not wait for to its end. */
  constructor(connections: Connections | undefined, onLate: () => void) {
    this.#connections = connections;
    this.#onLate = onLate;
    this.#known = connections ? 0 : Number.MAX_SAFE_INTEGER;
  }

  /** The horizon as far as it was looked for. */
  get known(): number {
    return this.#known;
  }

  /** Whether the known horizon is always that of now. */
  get isUpToNow(): boolean {
    return this.#connections === undefined;
  }

  /**
   * Returns the horizon, which is not before the newest event of now, unless a commit that is under way takes long. All
   * that ask while a look is under way share the next one, because that one may have begun before an event that they
   * know of.
   * @throws what `Connections.query` throws.
   */
  async look(): Promise<number> {
    const connections = this.#connections;
    if (!connections) return this.#known;
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const looking = this.#lookNow(connections);
      this.#running = looking.catch(() => {});
      return looking;
    });
    await within(patienceMs, this.#next, this.#onLate);
    return this.#known;
  }

  async #lookNow(connections: Connections): Promise<void> {
    const { newestEvent, underWay } = await selectCommitsUnderWay(connections);
    let before = newestEvent > this.#known ? underWay : [];
    for (let pause = pauseMs; before.length > 0; pause = Math.min(pause * 2, pauseMsMax)) {
      await Bun.sleep(pause);
      const now = new Set((await selectCommitsUnderWay(connections)).underWay);
      before = before.filter((transaction) => now.has(transaction));
    }
    this.#known = Math.max(this.#known, newestEvent);
  }
}

/** Resolves with the promise, or after `ms` milliseconds; then `onLate` is called when the promise resolves. */
async function within(ms: number, promise: Promise<void>, onLate: () => void): Promise<void> {
  let isLate = false;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    isLate = true;
    resolve();
  }, ms);
  promise.then(
    () => isLate && onLate(),
    () => {},
  );
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
