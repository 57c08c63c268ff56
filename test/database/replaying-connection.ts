import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Database as SqliteFile } from "bun:sqlite";
import { Commit } from "../../src/database/commit.ts";
import type { Connection, Transaction } from "../../src/database/database.ts";
import type { Connections } from "../../src/database/postgres/connections.ts";
import { numbered } from "../../src/database/postgres/placeholders.ts";
import * as schema from "../../src/database/schema.ts";
import { statementsOf } from "../../src/database/statements.ts";
import type { Result } from "../../src/database/postgres/values.ts";

/** A statement as PostgreSQL ran it. */
export type Ran = { text: string; parameters: unknown[] };

/** Thrown by a statement that has not run yet. */
class NotYetRun extends Error {
  readonly statement: Ran;

  constructor(statement: Ran) {
    super(`not run yet: ${statement.text}`);
    this.statement = statement;
  }
}

/**
 * Runs a function of the domain on PostgreSQL: each statement that it comes to is run and its result kept, and the
 * function starts again, until it comes to its end. Returns its result and the statements that it ran.
 */
export async function runOn<Value>(
  connections: Connections,
  work: (tx: Transaction) => Value | Promise<Value>,
): Promise<{ value: Value; ran: Ran[] }> {
  const ran: Ran[] = [];
  const results: Result[] = [];
  for (;;) {
    try {
      return { value: await work(replaying(results)), ran };
    } catch (error) {
      const found = error instanceof NotYetRun ? error : (error as Error).cause;
      if (!(found instanceof NotYetRun)) throw error;
      const { text, parameters } = found.statement;
      ran.push(found.statement);
      results.push(await connections.query(text, parameters));
    }
  }
}

/** A connection whose statements answer from the results, in their order. */
function replaying(results: readonly Result[]): Transaction {
  let next = 0;
  const prepare = (sql: string) => {
    const { text, names } = numbered(sql);
    const run = (given: unknown[]): Result => {
      const result = results[next++];
      if (result) return { ...result, rows: result.rows.map((row) => [...row]) };
      const [row] = given as Array<Record<string, unknown>>;
      const parameters = names.length > 0 ? names.map((name) => row?.[name]) : given;
      throw new NotYetRun({ text, parameters });
    };
    const all = (...given: unknown[]) => {
      const { rows, columns } = run(given);
      return rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
    };
    return {
      all,
      get: (...given: unknown[]) => all(...given)[0] ?? null,
      values: (...given: unknown[]) => run(given).rows,
      run: (...given: unknown[]) => ({ changes: run(given).count }),
    };
  };
  const client = { prepare } as unknown as SqliteFile;
  const connection: Connection = Object.assign(drizzle(client, { schema }), {
    $client: statementsOf(client),
    engine: "postgres" as const,
    cacheVersion: { now: () => crypto.randomUUID(), forget: () => {} },
    webhooksVisibility: "workspace" as const,
  });
  return Object.assign(connection, { commit: new Commit() });
}
