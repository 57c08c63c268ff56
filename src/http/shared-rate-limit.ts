import { timeOfDatabase as clock } from "../database/postgres/clock.ts";
import { explainDatabaseError } from "../database/postgres/errors.ts";
import type { PostgresDatabase } from "../database/postgres/open.ts";
import { stampQuery } from "../database/postgres/version-look.ts";
import { DomainError } from "../errors.ts";
import { RateLimit, type RateLimitStatus, windowMs } from "./rate-limit.ts";

/** How often windows that are over are deleted, in milliseconds. */
const sweepMs = 60_000;

/** A window that ends later than this, in milliseconds, was begun before the database's clock was set back. */
const clockTolerance = 10_000;

type Waiter = { resolve: (status: RateLimitStatus) => void; reject: (error: unknown) => void };

/**
 * Counts the requests to all nodes of the workspace as `RateLimit` does those to one, by the clock of the database. The
 * requests of one turn of the event loop share a statement, which looks up the version of cacheable data too.
 */
export class SharedRateLimit {
  readonly #database: Pick<PostgresDatabase, "connections" | "versionLook">;
  readonly #name: string;
  readonly #limit: number;
  readonly #own: RateLimit;
  #waiting = new Map<string, Waiter[]>();
  #sweptAt = performance.now();

  /** Limits with other names have counts of their own. */
  constructor(database: Pick<PostgresDatabase, "connections" | "versionLook">, name: string, limit: number) {
    this.#database = database;
    this.#name = name;
    this.#limit = limit;
    this.#own = new RateLimit(limit);
  }

  /**
   * Counts a request of the key. A request over the limit does not extend the window.
   * @throws DomainError `unavailable`, `busy` or `unwritable` when the database cannot be used.
   */
  take(key: string): Promise<RateLimitStatus> {
    const { promise, resolve, reject } = Promise.withResolvers<RateLimitStatus>();
    if (this.#waiting.size === 0) this.#database.versionLook.carry(() => this.#count());
    const waiters = this.#waiting.get(key);
    if (waiters) waiters.push({ resolve, reject });
    else this.#waiting.set(key, [{ resolve, reject }]);
    return promise;
  }

  /** Returns the version that the statement has seen. */
  async #count(): Promise<string | undefined> {
    const batch = this.#waiting;
    this.#waiting = new Map();
    try {
      return await this.#countBatch(batch);
    } catch (error) {
      this.#countHere(batch, explainDatabaseError(error));
      return undefined;
    }
  }

  /** A database that only takes no writes can still be read, as far as this node alone lets the requests through. */
  #countHere(batch: ReadonlyMap<string, readonly Waiter[]>, error: unknown): void {
    const isReadable = error instanceof DomainError && error.code === "unwritable";
    for (const [key, waiters] of batch)
      for (const { resolve, reject } of waiters) {
        if (isReadable) resolve(this.#own.take(key));
        else reject(error);
      }
  }

  async #countBatch(batch: ReadonlyMap<string, readonly Waiter[]>): Promise<string | undefined> {
    const keys = [...batch.keys()];
    const wanted = [...batch.values()].map(({ length }) => length);
    const { rows } = await this.#database.connections.query(countStatement, [
      keys.map((key) => `${this.#name} ${key}`),
      wanted,
      this.#limit,
    ]);
    for (const [key, endsAt, usedNow, taken, now] of rows as Array<
      [string, number, number, number, number, string | null]
    >) {
      const waiters = batch.get(key.slice(this.#name.length + 1)) ?? [];
      for (const [at, { resolve }] of waiters.entries()) {
        const isAllowed = at < taken;
        const used = isAllowed ? usedNow - taken + at + 1 : usedNow;
        resolve({
          isAllowed,
          limit: this.#limit,
          remaining: Math.max(0, this.#limit - used),
          resetsAt: Math.ceil(endsAt / 1000),
          retryAfterSeconds: Math.max(1, Math.ceil((endsAt - now) / 1000)),
        });
      }
    }
    this.#sweep();
    return (rows[0]?.[5] as string | null | undefined) ?? undefined;
  }

  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = now;
    // One that fails is made up for by the next.
    this.#database.connections.query(sweepStatement).catch(() => {});
  }
}

// `taken` tells how many of the requests were within the limit, which an update cannot return otherwise. The rows are
// locked in one order on every node.
const countStatement = `
  INSERT INTO rate_counts AS counted (key, ends_at, used, taken, most)
  SELECT key, ${clock} + ${windowMs}, least(wanted, most), least(wanted, most), most
  FROM unnest($1::text[], $2::bigint[]) AS given (key, wanted), (SELECT $3::bigint AS most) AS rule ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    ends_at = CASE WHEN ${isOver()} THEN excluded.ends_at ELSE counted.ends_at END,
    used = CASE WHEN ${isOver()} THEN excluded.used ELSE counted.used + ${left()} END,
    taken = CASE WHEN ${isOver()} THEN excluded.taken ELSE ${left()} END,
    most = excluded.most
  RETURNING key, ends_at, used, taken, ${clock}, (${stampQuery})`;

// Rows that are being counted are left to the next sweep: waiting for them could be waiting in a circle.
const sweepStatement = `
  DELETE FROM rate_counts WHERE key IN
    (SELECT key FROM rate_counts WHERE ends_at <= ${clock} FOR UPDATE SKIP LOCKED)`;

function isOver(): string {
  const now = `excluded.ends_at - ${windowMs}`;
  return `counted.ends_at <= ${now} OR counted.ends_at > excluded.ends_at + ${clockTolerance}`;
}

function left(): string {
  return "least(excluded.taken, greatest(0, excluded.most - counted.used))";
}
