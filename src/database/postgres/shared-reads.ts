import type { Connections } from "./connections.ts";
import { retried } from "./retries.ts";
import type { Result } from "./statements.ts";

/** The maximum number of look-ups that share a statement. */
const sharedMax = 256;

/** A parameter that says what it is, so that a column of texts can take its place. */
const typedParameter = /cast\(\$(\d+) as (text|bigint)\)/gi;

type LookUp = {
  parameters: readonly unknown[];
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

/**
 * Reads for many at once. While a look-up by a statement is under way, others by the same one wait and are then made
 * together, which costs a fifth. That needs a statement whose parameters all are of the form `cast(? as …)`; one by
 * another statement is sent at once.
 */
export class SharedReads {
  readonly #connections: Connections;
  readonly #shared = new Map<string, string | undefined>();
  /** The look-ups that wait, by statement; there is a list while one is under way. */
  readonly #waiting = new Map<string, LookUp[]>();

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** @throws what `Connections.query` throws. */
  query(sql: string, parameters: readonly unknown[]): Promise<Result> {
    if (this.#sharedFormOf(sql) === undefined) return retried(this.#connections, sql, parameters);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const lookUp = { parameters, resolve, reject };
    const waiting = this.#waiting.get(sql);
    if (waiting) waiting.push(lookUp);
    else {
      this.#waiting.set(sql, []);
      void this.#readInTurn(sql, [lookUp]);
    }
    return promise;
  }

  async #readInTurn(sql: string, first: readonly LookUp[]): Promise<void> {
    for (let next = first; next.length > 0; next = this.#waiting.get(sql)?.splice(0, sharedMax) ?? [])
      await this.#readTogether(sql, next);
    this.#waiting.delete(sql);
  }

  async #readTogether(sql: string, lookUps: readonly LookUp[]): Promise<void> {
    const [only] = lookUps;
    try {
      if (only && lookUps.length === 1)
        return only.resolve(await retried(this.#connections, sql, only.parameters));
      const lists = (only?.parameters ?? []).map((_, at) =>
        lookUps.map(({ parameters }) => asText(parameters[at])),
      );
      const { columns, rows } = await retried(this.#connections, this.#sharedFormOf(sql) ?? "", lists);
      const byPlace = Map.groupBy(rows, ([place]) => Number(place));
      for (const [at, { resolve }] of lookUps.entries()) {
        const found = (byPlace.get(at + 1) ?? []).map((row) => row.slice(1));
        resolve({ columns: columns.slice(1), rows: found, count: found.length });
      }
    } catch (error) {
      for (const { reject } of lookUps) reject(error);
    }
  }

  /** The statement for many; undefined for one that cannot be shared. */
  #sharedFormOf(sql: string): string | undefined {
    if (this.#shared.has(sql)) return this.#shared.get(sql);
    const shared = sharedForm(sql);
    this.#shared.set(sql, shared);
    return shared;
  }
}

function sharedForm(sql: string): string | undefined {
  let count = 0;
  const form = sql.replace(typedParameter, (_, number: string, type: string) => {
    count = Math.max(count, Number(number));
    return `cast(given.p${number} AS ${type})`;
  });
  if (count === 0 || /\$\d/.test(form)) return undefined;
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  return (
    `SELECT given.place, answer.* FROM unnest(${numbers.map((number) => `$${number}::text[]`).join(", ")}) ` +
    `WITH ORDINALITY AS given (${numbers.map((number) => `p${number}`).join(", ")}, place) ` +
    `CROSS JOIN LATERAL (${form}) AS answer`
  );
}

function asText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(Number(value)) : (value ?? null);
}
