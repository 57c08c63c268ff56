import type { Database } from "../database/database.ts";
import { type AttemptFilter, type ListedAttempt, listAttempts } from "./attempt-search.ts";

/**
 * For how long an attempt may be committed after one with a higher number, in milliseconds: on PostgreSQL several
 * commits are under way at once, none for longer than the limits of its statements allow.
 */
const lateMs = 20_000;

/** The new attempts of a team, or of those that a filter lets through: each once, also one that is committed late. */
export class AttemptFeed {
  readonly #database: Database;
  readonly #teamId: string;
  readonly #filter: AttemptFilter;
  readonly #lateMs: number;
  /** When each attempt that may have late neighbours was seen first, by its place. */
  readonly #seen = new Map<number, number>();
  /** Up to here all were seen. */
  #after: number;

  /** `known` were seen, newest first. At most `limit` are read at once. */
  constructor(database: Database, teamId: string, filter: AttemptFilter, known: readonly ListedAttempt[]) {
    this.#database = database;
    this.#teamId = teamId;
    this.#filter = filter;
    this.#lateMs = database.file ? 0 : lateMs;
    this.#after = (known.at(-1)?.place ?? 1) - 1;
    this.#note(known);
  }

  /** Those that are there since the last call, oldest first. */
  async next(): Promise<ListedAttempt[]> {
    const filter = { ...this.#filter, after: this.#after };
    const attempts = await this.#database.ask((db) => listAttempts(db, this.#teamId, filter));
    const fresh = attempts.filter(({ place }) => !this.#seen.has(place));
    this.#note(fresh);
    return fresh.toReversed();
  }

  #note(attempts: readonly ListedAttempt[]): void {
    const now = performance.now();
    for (const { place } of attempts) this.#seen.set(place, now);
    for (const [place, at] of this.#seen) {
      if (now - at < this.#lateMs) continue;
      this.#after = Math.max(this.#after, place);
      this.#seen.delete(place);
    }
  }
}
