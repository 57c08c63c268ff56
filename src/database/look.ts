import { constants, Database as SqliteFile } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Connection } from "./database.ts";
import * as schema from "./schema.ts";
import { statementsOf } from "./statements.ts";

/** A connection that only looks: it applies no migration and leaves no file behind where nobody has the database open. */
export type Look = Disposable & {
  readonly connection: Connection;
  readonly file: SqliteFile;
  /** Whether what was read may be of two states, because another process has begun to use the database meanwhile. */
  isOutdated(): boolean;
};

/**
 * Opens the database file for looking only. Where no process has it open and its WAL is empty, SQLite is told that
 * nothing changes, so that it makes neither a WAL nor its index. Who opens it later is not noticed by SQLite then, but
 * by `isOutdated`.
 * @throws SQLite's error when there is no such file, or this login may not read it.
 */
export function lookAt(path: string): Look {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const isImmutable = logBytes === 0 && !mayBeInUse(path);
  const stateBefore = isImmutable ? stateOf(path) : undefined;
  const file = isImmutable
    ? new SqliteFile(
        `${pathToFileURL(path).href}?immutable=1`,
        constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
      )
    : new SqliteFile(path, { readonly: true });
  file.run("PRAGMA busy_timeout = 1000");
  let looks = 0;
  const connection = Object.assign(drizzle(file, { schema }), {
    $client: statementsOf(file),
    engine: "sqlite" as const,
    // Nothing is cached: tables of an old version have no version of their own.
    cacheVersion: { now: () => String(looks++), forget: () => {} },
    webhooksVisibility: "workspace" as const,
  });
  return {
    connection,
    file,
    isOutdated: () => stateBefore !== undefined && (mayBeInUse(path) || stateOf(path) !== stateBefore),
    [Symbol.dispose]: () => file.close(),
  };
}

/** Every process that has the database open has a WAL and its index; one that was killed leaves them behind. */
function mayBeInUse(path: string): boolean {
  return existsSync(`${path}-wal`) && existsSync(`${path}-shm`);
}

/** Changes with each write to the file. */
function stateOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.ino}:${stats.size}:${stats.mtimeNs}`;
}
