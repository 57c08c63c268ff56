import type { Database as SqliteFile } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { Commit } from "../../src/database/commit.ts";
import type { Connection, Transaction } from "../../src/database/database.ts";
import type { Connections } from "../../src/database/postgres/connections.ts";
import { Replay } from "../../src/database/postgres/replay.ts";
import { PostgresStatements, type Result } from "../../src/database/postgres/statements.ts";
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
  const replay = new Replay();
  const tx = transactionOf(replay);
  const ran: Ran[] = [];
  const send = async () => {
    let last: Result | undefined;
    for (const { query, parameters } of replay.takeUnsent()) {
      ran.push({ text: query.sql, parameters });
      last = await connections.query(query.sql, parameters);
    }
    return last;
  };
  for (;;) {
    replay.begin();
    try {
      const value = await work(tx);
      await send();
      return { value, ran };
    } catch (error) {
      if (!replay.isInterrupted) throw error;
      const last = await send();
      if (last) replay.learn(last);
    }
  }
}

/** Each read of the cache version returns a new one, so that nothing is served from the cache. */
function transactionOf(replay: Replay): Transaction {
  const statements = new PostgresStatements();
  statements.answers = replay;
  const connection = Object.assign(drizzle(statements as unknown as SqliteFile, { schema }), {
    engine: "postgres" as const,
    cacheVersion: { now: () => crypto.randomUUID(), forget: () => {} },
    webhooksVisibility: "workspace" as const,
  }) as unknown as Connection;
  return Object.assign(connection, { commit: new Commit() });
}
