import { isDeepStrictEqual } from "node:util";
import type { Rows } from "../appended.ts";
import type { Commit } from "../commit.ts";
import { appendQueryOf, parametersOf, takeNumbers } from "./append-rows.ts";
import { Interruption, type Answers, type Query, type Result } from "./statements.ts";

/** A statement with its parameters. */
export type Sent = { query: Query; parameters: readonly unknown[] };

/** Sends a statement after those that were sent before, without waiting for them. */
type Send = (text: string, parameters: readonly unknown[]) => Promise<Result>;

/**
 * The statements of one change, inside a transaction that nobody else changes anything beside. The change is a plain
 * function: where it wants a result that is not there, its run is interrupted, the result is fetched, and it runs again
 * from its start, so it has to come to the same changes each time. An awaited statement is simply waited for, and one
 * whose result nobody looks at is sent with the next one.
 */
export class StatementRun implements Answers {
  readonly #send: Send;
  #commit: Commit;
  /** What the change has read, by statement, parameters and the state of the tables that it reads from. */
  readonly #reads = new Map<string, Result>();
  /** The changes so far, in their order. */
  readonly #changes: Array<Sent & { result: Result }> = [];
  /** The changes that the present run has come to. */
  #next = 0;
  /** The rows that the present run has put down, by the number of the change that wrote them. */
  #written = new Map<number, Rows>();
  /** How often the present run has changed each table. */
  #states = new Map<string, number>();
  #unsent: Array<Sent & { at: number }> = [];
  #wanted: (Sent & { key: string | undefined }) | undefined;

  constructor(send: Send, commit: Commit) {
    this.#send = send;
    this.#commit = commit;
  }

  /** Begins a run from the start of the change. */
  begin(commit: Commit): void {
    this.#commit = commit;
    this.#next = 0;
    this.#written = new Map();
    this.#states = new Map();
    this.#wanted = undefined;
  }

  /** Whether the run ended before the change did. */
  get isInterrupted(): boolean {
    return this.#wanted !== undefined;
  }

  /** Fetches what the run was interrupted for. @throws the database's error. */
  async fetch(): Promise<void> {
    const wanted = this.#wanted;
    if (!wanted) return;
    const result = await this.#sendUnsent(wanted);
    if (wanted.key === undefined) this.#changes.push({ ...wanted, result });
    else this.#reads.set(wanted.key, result);
  }

  /** Sends what is left, and gives the rows that were put down their numbers. @throws the database's error. */
  async finish(): Promise<void> {
    this.#writeRows();
    await this.#sendUnsent();
    for (const [at, rows] of this.#written)
      takeNumbers(rows, this.#changes[at]?.result ?? nothing, this.#commit);
  }

  answer(query: Query, parameters: readonly unknown[]): Result {
    this.#writeRows();
    const known = this.#known(query, parameters);
    if (known) return known;
    if (!query.hasResult) return this.#put(query, parameters);
    this.#wanted = { query, parameters, key: query.isChange ? undefined : this.#keyOf(query, parameters) };
    throw new Interruption();
  }

  /** Waits until `answer` has an answer to this statement. @throws the database's error. */
  async foresee(query: Query, parameters: readonly unknown[]): Promise<void> {
    this.#writeRows();
    if (!query.hasResult || this.#isKnown(query, parameters)) return;
    const result = await this.#sendUnsent({ query, parameters });
    if (query.isChange) this.#changes.push({ query, parameters, result });
    else this.#reads.set(this.#keyOf(query, parameters), result);
  }

  #isKnown(query: Query, parameters: readonly unknown[]): boolean {
    return query.isChange
      ? this.#changes[this.#next] !== undefined
      : this.#reads.has(this.#keyOf(query, parameters));
  }

  #known(query: Query, parameters: readonly unknown[]): Result | undefined {
    if (!query.isChange) return this.#reads.get(this.#keyOf(query, parameters));
    const known = this.#changes[this.#next];
    if (known === undefined) return undefined;
    if (known.query.sql !== query.sql || !isDeepStrictEqual(known.parameters, parameters))
      throw new Error(
        `A change is not repeatable: it came to "${query.sql}" where it came to "${known.query.sql}" before, or with ` +
          "other parameters.",
      );
    this.#goPast(query);
    return known.result;
  }

  /** Notes a change whose result nobody wants now. */
  #put(query: Query, parameters: readonly unknown[]): Result {
    this.#unsent.push({ query, parameters, at: this.#changes.length });
    this.#changes.push({ query, parameters, result: nothing });
    this.#goPast(query);
    return nothing;
  }

  #goPast({ tables }: Query): void {
    this.#next++;
    for (const table of tables) this.#states.set(table, (this.#states.get(table) ?? 0) + 1);
  }

  #keyOf({ sql, tables }: Query, parameters: readonly unknown[]): string {
    const states = tables.map((table) => this.#states.get(table) ?? 0);
    return JSON.stringify([states, parameters, sql]);
  }

  /** Writes the rows that were put down so far, for statements after them have to see them. */
  #writeRows(): void {
    const { appended } = this.#commit;
    if (appended.isEmpty || appended.isLeftAside) return;
    const rows = appended.takeAll();
    this.#written.set(this.#next, rows);
    const parameters = parametersOf(rows, { version: null });
    const query = appendQueryOf(rows);
    if (!this.#known(query, parameters)) this.#put(query, parameters);
  }

  async #sendUnsent(last?: Sent): Promise<Result> {
    const unsent = this.#unsent;
    this.#unsent = [];
    // Of those without a wanted result only rows that were put down have one, and it is needed at the end.
    const sent = unsent.map(async (each) => {
      const result = await this.#send(each.query.sql, each.parameters);
      const change = this.#changes[each.at];
      if (change) change.result = result;
    });
    const answered = last && this.#send(last.query.sql, last.parameters);
    const [failed] = (await Promise.allSettled([...sent, answered])).filter(
      ({ status }) => status === "rejected",
    );
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return (await answered) ?? nothing;
  }
}

const nothing: Result = { rows: [], columns: [], count: 0 };
