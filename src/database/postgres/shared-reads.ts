import type { Connections } from "./connections.ts";
import { retried } from "./retries.ts";
import type { Result } from "./statements.ts";
import { stampQuery, type VersionLook } from "./version-look.ts";

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
 * Reads for many at once. The look-ups of a turn of the event loop by the same statement, and those that come while some
 * are under way, are made together, which costs a fifth; the statement looks up the version too. That needs a statement whose parameters all are of the form `cast(? as …)`; one by
 * another statement is sent at once.
 */
export class SharedReads {
  readonly #connections: Connections;
  readonly #look: VersionLook;
  readonly #shared = new Map<string, string | undefined>();
  /** The look-ups that wait, by statement; there is a list while one is under way. */
  readonly #waiting = new Map<string, LookUp[]>();

  constructor(connections: Connections, look: VersionLook) {
    this.#connections = connections;
    this.#look = look;
  }

  /** @throws what `Connections.query` throws. */
  query(sql: string, parameters: readonly unknown[]): Promise<Result> {
    if (this.#sharedFormOf(sql) === undefined) return retried(this.#connections, sql, parameters);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const lookUp = { parameters, resolve, reject };
    const waiting = this.#waiting.get(sql);
    if (waiting) waiting.push(lookUp);
    else {
      this.#waiting.set(sql, [lookUp]);
      this.#look.carry(() => this.#readInTurn(sql));
    }
    return promise;
  }

  /** Returns the version that the first statement has seen. */
  #readInTurn(sql: string): Promise<string | undefined> {
    const waiting = this.#waiting.get(sql) ?? [];
    const version = this.#readTogether(sql, waiting.splice(0, sharedMax));
    void version.then(() => this.#readOn(sql, waiting));
    return version;
  }

  async #readOn(sql: string, waiting: LookUp[]): Promise<void> {
    while (waiting.length > 0) await this.#readTogether(sql, waiting.splice(0, sharedMax));
    this.#waiting.delete(sql);
  }

  async #readTogether(sql: string, lookUps: readonly LookUp[]): Promise<string | undefined> {
    const [only] = lookUps;
    const lists = (only?.parameters ?? []).map((_, at) =>
      lookUps.map(({ parameters }) => asText(parameters[at])),
    );
    try {
      // Planned for one, it takes a third of the time.
      const isForOne = only !== undefined && lookUps.length === 1;
      const { columns, rows } = isForOne
        ? await retried(this.#connections, formForOne(sql), only.parameters)
        : await retried(this.#connections, this.#sharedFormOf(sql) ?? "", lists);
      const found: unknown[][][] = lookUps.map(() => []);
      for (const [, place, ...row] of rows) if (place !== null) found[Number(place) - 1]?.push(row);
      const own = columns.slice(2);
      for (const [at, { resolve }] of lookUps.entries()) {
        const ownRows = found[at] ?? [];
        resolve({ columns: own, rows: ownRows, count: ownRows.length });
      }
      return rows[0]?.[0] as string | undefined;
    } catch (error) {
      for (const { reject } of lookUps) reject(error);
      return undefined;
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
    `SELECT (${stampQuery}), given.place, answer.* FROM unnest(${numbers.map((number) => `$${number}::text[]`).join(", ")}) ` +
    `WITH ORDINALITY AS given (${numbers.map((number) => `p${number}`).join(", ")}, place) ` +
    `CROSS JOIN LATERAL (${form}) AS answer`
  );
}

/** The statement for one look-up; without a row it returns one that has no place. */
function formForOne(sql: string): string {
  return (
    `SELECT version.stamp, answer.* FROM (${stampQuery}) AS version ` +
    `LEFT JOIN LATERAL (SELECT 1 AS place, found.* FROM (${sql}) AS found) AS answer ON true`
  );
}

function asText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(Number(value)) : (value ?? null);
}
