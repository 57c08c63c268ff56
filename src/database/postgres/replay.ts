import { isDeepStrictEqual } from "node:util";
import { Interruption, type Answers, type Query, type Result } from "./statements.ts";

/** A statement that a run came to and that has no answer yet. */
export type Pending = { query: Query; parameters: readonly unknown[] };

/**
 * The statements of one function that runs again from its start after each one whose result it wants, with the results
 * of those before: so plain functions can use a database that responds later. The function has to come to the same
 * statements each time.
 */
export class Replay implements Answers {
  readonly #log: Array<Pending & { result: Result }> = [];
  #next = 0;
  /** What the latest run came to first, and has not been sent yet. */
  #unsent: Pending[] = [];
  /** What the latest run could not go past without the result. */
  #wanted: Pending | undefined;

  /** Begins a run from the start of the function. */
  begin(): void {
    this.#next = 0;
  }

  /** Whether the latest run ended before the function did. */
  get isInterrupted(): boolean {
    return this.#wanted !== undefined;
  }

  answer(query: Query, parameters: readonly unknown[]): Result {
    const known = this.#log[this.#next];
    if (known === undefined) return this.#ask({ query, parameters });
    if (known.query.sql !== query.sql || !isDeepStrictEqual(known.parameters, parameters))
      throw new Error(
        `A change or a question is not repeatable: it came to "${query.sql}" where it came to ` +
          `"${known.query.sql}" before, or with other parameters.`,
      );
    this.#next++;
    return known.result;
  }

  /** Returns the statements to send now, in their order; the result of the last one is wanted if `isInterrupted`. */
  takeUnsent(): Pending[] {
    const unsent = this.#wanted ? [...this.#unsent, this.#wanted] : this.#unsent;
    this.#unsent = [];
    return unsent;
  }

  /** Keeps the result that was wanted, for the next run. */
  learn(result: Result): void {
    if (this.#wanted) this.#log.push({ ...this.#wanted, result });
    this.#wanted = undefined;
  }

  #ask(pending: Pending): Result {
    if (!pending.query.hasResult) {
      this.#unsent.push(pending);
      this.#log.push({ ...pending, result: nothing });
      this.#next++;
      return nothing;
    }
    this.#wanted = pending;
    throw new Interruption();
  }
}

const nothing: Result = { rows: [], columns: [], count: 0 };
