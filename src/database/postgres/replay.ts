import { isDeepStrictEqual } from "node:util";
import { Interruption, type Answers, type Query, type Result } from "./statements.ts";

/** A statement that a run came to and that has no answer yet. */
export type Pending = { query: Query; parameters: readonly unknown[] };

/**
 * The statements of one function that runs again from its start after each of them, with the results of those before:
 * so plain functions can use a database that responds later. The function has to come to the same statements each time.
 */
export class Replay implements Answers {
  readonly #log: Array<Pending & { result: Result }> = [];
  #next = 0;
  /** What the last run came to and could not go past. */
  pending: Pending | undefined;

  /** Begins a run from the start of the function. */
  begin(): void {
    this.#next = 0;
    this.pending = undefined;
  }

  /** How many statements have a result. */
  get length(): number {
    return this.#log.length;
  }

  /** Whether the run has met every statement that has a result, and so is where no run was before. */
  get isAhead(): boolean {
    return this.#next >= this.#log.length;
  }

  answer(query: Query, parameters: readonly unknown[]): Result {
    const known = this.#log[this.#next];
    if (known === undefined) {
      this.pending = { query, parameters };
      throw new Interruption();
    }
    if (known.query.sql !== query.sql || !isDeepStrictEqual(known.parameters, parameters))
      throw new Error(
        `A change or a question is not repeatable: it came to "${query.sql}" where it came to ` +
          `"${known.query.sql}" before, or with other parameters.`,
      );
    this.#next++;
    return known.result;
  }

  /** Keeps the result of `pending` for the next run. */
  learn(result: Result): void {
    const { pending } = this;
    if (pending) this.#log.push({ ...pending, result });
    this.pending = undefined;
  }
}
