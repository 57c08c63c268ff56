import type { Appended } from "../appended.ts";
import type { Sent } from "./statement-run.ts";
import { Interruption, type Answers, type Query, type Result } from "./statements.ts";

/**
 * Answers a function from what was loaded for it, whatever the order in which it asks. What is not loaded is noted and
 * ends the run; so does a statement that needs a transaction: one that changes something, or one after rows were put down,
 * which it has to see.
 */
export class Facts implements Answers {
  #appended: Appended | undefined;
  /** By statement, then by parameters. */
  readonly #known = new Map<string, Map<string, Result>>();
  /** What the last run came to and could not know. */
  missing: Sent | undefined;
  /** Whether the last run came to a statement that needs a transaction. */
  needsTransaction = false;
  /** The version of cacheable data that the function sees; undefined until it is needed. */
  version: string | undefined;
  /** Whether the last run needed the version. */
  needsVersion = false;

  constructor(version?: string) {
    this.version = version;
  }

  /** Whether the last run ended before the function did. */
  get isInterrupted(): boolean {
    return this.needsTransaction || this.needsVersion || this.missing !== undefined;
  }

  /** Begins a run that puts its rows down in `appended`, if it puts any down. */
  begin(appended?: Appended): void {
    this.#appended = appended;
    this.missing = undefined;
    this.needsTransaction = false;
    this.needsVersion = false;
  }

  answer(query: Query, parameters: readonly unknown[]): Result {
    const { hasRowsOfCall = false, isLeftAside = false } = this.#appended ?? {};
    if (query.isChange || (hasRowsOfCall && !isLeftAside)) {
      this.needsTransaction = true;
      throw new Interruption();
    }
    const known = this.#known.get(query.sql)?.get(keyOf(parameters));
    if (known) return known;
    this.missing = { query, parameters };
    throw new Interruption();
  }

  /** The version for `cached`. */
  versionNow(): string {
    if (this.version !== undefined) return this.version;
    this.needsVersion = true;
    throw new Interruption();
  }

  learn({ query, parameters }: Sent, result: Result): void {
    const ofStatement = this.#known.get(query.sql);
    if (ofStatement) ofStatement.set(keyOf(parameters), result);
    else this.#known.set(query.sql, new Map([[keyOf(parameters), result]]));
  }
}

/** Parameters of the same statement have the same key if they are equal, in type too. */
function keyOf(parameters: readonly unknown[]): string {
  let key = "";
  for (const value of parameters)
    key += typeof value === "string" ? `"${value.length} ${value}` : `${typeof value} ${String(value)} `;
  return key;
}
