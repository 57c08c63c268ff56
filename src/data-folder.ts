import { Database as SqliteFile } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { finishCopy, keepCopy } from "./backup/kept-copy.ts";
import { finishPendingRestore, hasPendingRestore } from "./backup/pending-restore.ts";
import type { WebhooksVisibility } from "./settings.ts";
import { explainDataError } from "./system/data-errors.ts";
import { requireOwnLog } from "./database/wal-number.ts";
import type { Database, SqliteDatabase } from "./database/database.ts";
import { arrivingFile, requireHere } from "./database/move-state.ts";
import { openDatabase } from "./database/open.ts";
import { holdServerLock } from "./database/server-lock.ts";
import { findServer } from "./database/server-note.ts";
import { DomainError } from "./errors.ts";
import { makeFolder, touchFile } from "./system/on-disk.ts";
import { keyFile } from "./secrets/key-file.ts";
import { listTeams } from "./teams/teams.ts";
import { requireNoLink } from "./system/trusted-files.ts";
import { version } from "./version.ts";

/** How a workspace is opened. */
export type OpenOptions = {
  webhooksVisibility?: WebhooksVisibility;
  /** Told how many bytes of the copy that is kept before an upgrade are written, of how many. */
  onCopy?: (done: number, total: number) => void;
  /** Told which migration begins. */
  onMigration?: (name: string, number: number, of: number) => void;
};

/** How long a process waits for another one that is changing the tables, in milliseconds. */
const migrationWaitMs = 5_000;

/**
 * Whether the data folder contains a workspace, which means at least one team: a rejected `init` leaves a database
 * without one.
 * @throws what `openDataFolder` throws for an unusable folder.
 */
export async function hasWorkspaceIn(dataDir: string): Promise<boolean> {
  finishRestore(dataDir);
  requireDatabase(dataDir);
  if (!existsSync(databaseFile(dataDir))) return false;
  const database = open(dataDir);
  try {
    return (await database.ask(listTeams)).length > 0;
  } finally {
    await closeWithLog(dataDir, database);
  }
}

/**
 * Opens the workspace in the data folder and applies missing migrations, after keeping a copy of the database from
 * before. `webhooksVisibility` decides which events subscriptions receive; the default is `workspace`.
 * @throws DomainError `not_found` when the folder contains no workspace, or it was moved elsewhere; `forbidden` when this
 *   login may not use it;
 *   `invalid` when its file is not a database; `data_damaged` when the file is gone, or the WAL belongs to another
 *   one; `data_too_new` when a newer binary has used it; `conflict` when an older server is running, whose tables
 *   would change.
 */
export function openDataFolder(dataDir: string, options: OpenOptions = {}): SqliteDatabase {
  finishRestore(dataDir);
  requireDatabase(dataDir);
  if (!existsSync(databaseFile(dataDir))) {
    throw new DomainError(
      "not_found",
      `There is no workspace in ${dataDir}. Create one with: parley init --team NAME --owner NAME`,
    );
  }
  return open(dataDir, options);
}

/**
 * Makes the data folder, for its owner alone, and runs `work` with its database, which may be new.
 * @throws DomainError `forbidden`, `invalid`, `unwritable` or `busy` when the folder cannot be used; `data_damaged` when
 *   there was a workspace whose database is gone; what `work` throws.
 */
export async function initDataFolder<T>(
  dataDir: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  finishRestore(dataDir);
  requireDatabase(dataDir);
  try {
    makeFolder(dataDir);
    // SQLite gives its other files the mode of this one, which must exclude other logins even if they may enter the
    // folder.
    touchFile(databaseFile(dataDir));
  } catch (error) {
    throw explainDataError(error, dataDir);
  }
  const database = open(dataDir);
  try {
    return await work(database);
  } catch (error) {
    throw explainDataError(error, dataDir);
  } finally {
    await closeWithLog(dataDir, database);
  }
}

/**
 * Closes the database for a server that the same process may start next. SQLite keeps the write-ahead log until the
 * process ends, because statements are left, and the server would take it for that of a crash. A log that was found is
 * such a one, and stays.
 */
async function closeWithLog(dataDir: string, database: SqliteDatabase): Promise<void> {
  await database.close();
  if (database.file.logBytesFound > 0) return;
  using file = new SqliteFile(databaseFile(dataDir));
  file.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

/** Finishes a restore that was broken off after it was decided. */
function finishRestore(dataDir: string): void {
  if (!hasPendingRestore(dataDir)) return;
  try {
    using _lock = holdServerLock(dataDir, migrationWaitMs);
    // Another process may have finished it while this one waited.
    if (hasPendingRestore(dataDir)) finishPendingRestore(dataDir);
  } catch (error) {
    throw explainDataError(error, dataDir);
  }
}

/**
 * Rejects a folder whose database is a link, has gone missing or is still being moved there.
 * @throws DomainError `invalid` for a symbolic link; `data_damaged` when there was a database and is none now;
 *   `not_found` for part of a workspace.
 */
export function requireDatabase(dataDir: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) requireNoLink(`${databaseFile(dataDir)}${ending}`);
  // In this order, because a concurrent `init` creates the key after the database.
  const keyExists = existsSync(keyFile(dataDir));
  const databaseExists = existsSync(databaseFile(dataDir));
  if (!databaseExists && existsSync(arrivingFile(dataDir))) {
    throw new DomainError(
      "not_found",
      `A workspace was being moved to ${dataDir}, and that has not ended. Go on with the same parley move; or drop what ` +
        "was copied, with --discard after it.",
    );
  }
  if (!keyExists || (databaseExists && statSync(databaseFile(dataDir)).size > 0)) return;
  throw new DomainError(
    "data_damaged",
    `${databaseFile(dataDir)} is ${databaseExists ? "empty" : "missing"}, but ${keyFile(dataDir)} shows that ` +
      "there was a workspace. Restore parley.db from a backup; or, to start over, move secret.key away and run " +
      "parley init.",
  );
}

function open(dataDir: string, options: OpenOptions = {}): SqliteDatabase {
  const database = openAnyState(dataDir, options);
  try {
    requireHere(database.file.reader, dataDir);
    return database;
  } catch (error) {
    void database.close();
    throw error;
  }
}

function openAnyState(dataDir: string, options: OpenOptions): SqliteDatabase {
  const path = databaseFile(dataDir);
  try {
    requireOwnLog(path);
    try {
      return openDatabase(path, {
        ...options,
        holdToMigrate: (missing) => {
          throw new MigrationsMissing(missing);
        },
      });
    } catch (error) {
      if (!(error instanceof MigrationsMissing)) throw error;
      // By now the database is closed again: a copy of its files must not be made while this process has it open.
      return upgrade(dataDir, error.missing, options);
    }
  } catch (error) {
    throw explainDataError(error, dataDir);
  }
}

/** Ends the opening of a database whose tables have to change first. */
class MigrationsMissing extends Error {
  readonly missing: string[];

  constructor(missing: string[]) {
    super("Migrations are missing.");
    this.missing = missing;
  }
}

/**
 * Migrates the database after keeping a copy of it, while no server can use it, and opens it. Another process may have
 * done so while this one waited.
 */
function upgrade(dataDir: string, missing: string[], options: OpenOptions): SqliteDatabase {
  const path = databaseFile(dataDir);
  try {
    using _lock = holdServerLock(dataDir, migrationWaitMs);
    keepCopy(dataDir, missing, options.onCopy);
    const database = openDatabase(path, { ...options, holdToMigrate: () => new DisposableStack() });
    finishCopy(dataDir);
    return database;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === "conflict")) throw error;
    // A server of this version that has upgraded meanwhile is in nobody's way.
    return openDatabase(path, {
      ...options,
      holdToMigrate: () => {
        throw servedByOther(dataDir);
      },
    });
  }
}

function servedByOther(dataDir: string): DomainError {
  const { note } = findServer(dataDir);
  const server = note ? `parley ${note.version}` : "An older parley";
  return new DomainError(
    "conflict",
    `${server} is serving ${dataDir}, and this is parley ${version}, which has to change the tables. Stop it first.`,
  );
}

function databaseFile(dataDir: string): string {
  return join(dataDir, "parley.db");
}
