import { Database as SqliteFile, type Statement } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { Commit } from "../../src/database/commit.ts";
import type { Transaction } from "../../src/database/database.ts";
import * as schema from "../../src/database/schema.ts";

/** A connection that records what runs on it, through drizzle or without it. */
export type NotingConnection = Disposable & {
  tx: Transaction;
  file: SqliteFile;
  /** The statements since the list was last emptied, each with its parameters. */
  noted: Array<{ sql: string; params: unknown[] }>;
};

const runs = new Set<PropertyKey>(["run", "get", "all", "values"]);

/** Opens the database. Each read of the cache version returns a new one, so that nothing is served from the cache. */
export function notingConnection(path: string): NotingConnection {
  const noted: NotingConnection["noted"] = [];
  const file = new SqliteFile(path, { strict: true });
  const prepare = file.prepare.bind(file);
  const notingPrepare = (sql: string) =>
    new Proxy(prepare(sql), {
      get(statement: Statement, key) {
        const member: unknown = Reflect.get(statement, key, statement);
        if (typeof member !== "function") return member;
        return (...params: unknown[]) => {
          if (runs.has(key)) noted.push({ sql, params });
          return Reflect.apply(member, statement, params) as unknown;
        };
      },
    });
  Object.assign(file, { prepare: notingPrepare });
  const cacheVersion = { now: () => crypto.randomUUID(), forget: () => {} };
  const tx = Object.assign(drizzle(file, { schema }), {
    cacheVersion,
    webhooksVisibility: "workspace" as const,
    commit: new Commit(),
  });
  // Each operation is a separate commit, in which nothing is deferred.
  const commit = () => Object.assign(new Commit(), { beforeCommit: (step: () => void) => step() });
  Object.defineProperty(tx, "commit", { get: commit });
  return { tx, file, noted, [Symbol.dispose]: () => file.close() };
}
