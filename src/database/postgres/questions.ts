import type { Connection } from "../database.ts";
import type { Connections } from "./connections.ts";
import { Facts } from "./facts.ts";
import { SharedReads } from "./shared-reads.ts";
import { nobodyAnswers, type PostgresStatements } from "./statements.ts";
import type { VersionLook } from "./version-look.ts";

/** A function that needs more look-ups than this does not come to an end. */
const runsMax = 10_000;

/**
 * Runs plain functions that only read. Each runs until it asks for something that is not loaded; that is loaded, and it
 * runs again.
 */
export class Questions {
  readonly #reads: SharedReads;
  readonly #look: VersionLook;
  readonly #connection: Connection;
  readonly #statements: PostgresStatements;
  #facts: Facts | undefined;
  /** Settles when the asynchronous function that runs now is done. */
  #busy: Promise<void> | undefined;

  /** `connect` makes the connection whose statements are given and whose version for `cached` is the function's result. */
  constructor(
    connections: Connections,
    look: VersionLook,
    statements: PostgresStatements,
    connect: (version: () => string) => Connection,
  ) {
    this.#reads = new SharedReads(connections, look);
    this.#look = look;
    this.#statements = statements;
    this.#connection = connect(() => {
      if (!this.#facts) throw new Error("Cached data was asked for outside of a question.");
      return this.#facts.versionNow();
    });
  }

  /**
   * See `Database.ask`. The question runs at once, on what is remembered of the version that was seen last, while that is
   * looked up; if it has changed, the question begins anew.
   */
  async ask<T>(question: (db: Connection) => T | Promise<T>, onPresumed?: (answer: T) => void): Promise<T> {
    const look = this.#look.look();
    // Whoever awaits it first hears of its failure.
    look.catch(() => {});
    let facts = new Facts(this.#look.latest);
    for (let runs = 0; runs < runsMax; runs++) {
      const result = await this.#run(question, facts);
      if (facts.needsTransaction) throw new Error("A question must not change anything.");
      const { missing } = facts;
      if (missing) facts.learn(missing, await this.#reads.query(missing.query.sql, missing.parameters));
      if (facts.isInterrupted && !facts.needsVersion) continue;
      if (runs === 0 && "value" in result && !facts.isInterrupted) onPresumed?.(result.value);
      const version = await look;
      if (version !== facts.version) facts = new Facts(version);
      else if ("error" in result) throw result.error;
      else return result.value;
    }
    throw new Error("A question comes to no end.");
  }

  // There is one connection. A function that awaits keeps it until it is done, which takes no longer than a few
  // microtasks, because it may await only the database.
  async #run<T>(
    question: (db: Connection) => T | Promise<T>,
    facts: Facts,
  ): Promise<{ value: T } | { error: unknown }> {
    while (this.#busy) await this.#busy;
    facts.begin();
    this.#facts = facts;
    this.#statements.answers = facts;
    let done: (() => void) | undefined;
    try {
      const value = question(this.#connection);
      if (!isThenable(value)) return { value };
      this.#busy = new Promise((resolve) => (done = resolve));
      return { value: await value };
    } catch (error) {
      return { error };
    } finally {
      this.#facts = undefined;
      this.#statements.answers = nobodyAnswers;
      this.#busy = undefined;
      done?.();
    }
  }
}

/** Also true for drizzle's queries, which are thenable but not promises. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}
