import { Database as SqliteFile } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { Commit } from "../../src/database/commit.ts";
import type { Transaction } from "../../src/database/database.ts";
import * as schema from "../../src/database/schema.ts";
import { writerOfAppended, writingOutFirst } from "../../src/database/write-out.ts";
import { statementsOf } from "../../src/database/statements.ts";

/** A connection that records what runs on it, through drizzle or without it. */
export type NotingConnection = Disposable & {
  tx: Transaction;
  file: SqliteFile;
  /** The statements since the list was last emptied, each with its parameters. */
  noted: Array<{ sql: string; params: unknown[] }>;
  /** Ends a commit: writes what was put down since the last one. */
  commit: () => void;
};

/** Opens the database. Each read of the cache version returns a new one, so that nothing is served from the cache. */
export function notingConnection(path: string): NotingConnection {
  const noted: NotingConnection["noted"] = [];
  const file = new SqliteFile(path, { strict: true });
  const prepare = file.prepare.bind(file);
  const notingPrepare = (sql: string) => {
    const statement = prepare(sql);
    for (const way of ["run", "get", "all", "values"] as const) {
      const run = statement[way].bind(statement) as (...params: unknown[]) => unknown;
      const noting = (...params: unknown[]) => {
        noted.push({ sql, params });
        return run(...params);
      };
      Object.assign(statement, { [way]: noting });
    }
    return statement;
  };
  Object.assign(file, { prepare: notingPrepare });
  const cacheVersion = { now: () => crypto.randomUUID(), forget: () => {} };
  const writeAppended = writerOfAppended(file);
  const client = writingOutFirst(file, () => {
    if (!tx.commit.appended.isLeftAside) writeAppended(tx.commit);
  });
  const tx: Transaction = Object.assign(drizzle(client, { schema }), {
    $client: statementsOf(client),
    engine: "sqlite" as const,
    cacheVersion,
    webhooksVisibility: "workspace" as const,
    commit: new Commit(),
  });
  const commit = () => {
    writeAppended(tx.commit);
    tx.commit = new Commit();
  };
  return { tx, file, noted, commit, [Symbol.dispose]: () => file.close() };
}
