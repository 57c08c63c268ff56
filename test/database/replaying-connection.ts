import type { Database as SqliteFile } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { Commit } from "../../src/database/commit.ts";
import type { Connection, Transaction } from "../../src/database/database.ts";
import type { Connections } from "../../src/database/postgres/connections.ts";
import { StatementRun } from "../../src/database/postgres/statement-run.ts";
import { PostgresStatements } from "../../src/database/postgres/statements.ts";
import * as schema from "../../src/database/schema.ts";

/** A statement as PostgreSQL ran it. */
export type Ran = { text: string; parameters: readonly unknown[] };

/**
 * Runs a function of the domain on PostgreSQL, each of its statements in a transaction of its own. Returns its result and
 * the statements that it ran.
 */
export async function runOn<Value>(
  connections: Connections,
  work: (tx: Transaction) => Value | Promise<Value>,
): Promise<{ value: Value; ran: Ran[] }> {
  const ran: Ran[] = [];
  // One after another, as on one connection.
  let last: Promise<unknown> = Promise.resolve();
  const run = new StatementRun((text, parameters) => {
    ran.push({ text, parameters });
    const result = last.then(() => connections.query(text, parameters));
    last = result.catch(() => {});
    return result;
  }, new Commit());
  const tx = transactionOf(run);
  for (;;) {
    tx.commit = new Commit();
    run.begin(tx.commit);
    try {
      const value = await work(tx);
      await run.finish();
      return { value, ran };
    } catch (error) {
      if (!run.isInterrupted) throw error;
      await run.fetch();
    }
  }
}

/** Each read of the cache version returns a new one, so that nothing is served from the cache. */
function transactionOf(run: StatementRun): Transaction {
  const statements = new PostgresStatements();
  statements.answers = run;
  const connection = Object.assign(drizzle(statements as unknown as SqliteFile, { schema }), {
    engine: "postgres" as const,
    cacheVersion: { now: () => crypto.randomUUID(), forget: () => {} },
    webhooksVisibility: "workspace" as const,
  }) as unknown as Connection;
  return Object.assign(connection, { commit: new Commit() });
}
