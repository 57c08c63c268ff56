import { constants, Database as SqliteFile } from "bun:sqlite";
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { Connection } from "./database.ts";
import * as schema from "./schema.ts";

/** A connection that only looks: it applies no migration and leaves no file behind where nobody has the database open. */
export type Look = Disposable & { readonly connection: Connection };

/**
 * Opens the database file for looking only. `isInUse` says that a server has it open. Otherwise, and with an empty WAL,
 * SQLite is told that nothing changes, so that it makes neither a WAL nor its index.
 * @throws SQLite's error when there is no such file, or this login may not read it.
 */
export function lookAt(path: string, isInUse: boolean): Look {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const isImmutable = !isInUse && logBytes === 0;
  const file = isImmutable
    ? new SqliteFile(
        `${pathToFileURL(path).href}?immutable=1`,
        constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
      )
    : new SqliteFile(path, { readonly: true });
  file.run("PRAGMA busy_timeout = 1000");
  let looks = 0;
  const connection = Object.assign(drizzle(file, { schema }), {
    // Nothing is cached: tables of an old version have no version of their own.
    cacheVersion: { now: () => String(looks++), forget: () => {} },
    webhooksVisibility: "workspace" as const,
  });
  return { connection, [Symbol.dispose]: () => file.close() };
}
