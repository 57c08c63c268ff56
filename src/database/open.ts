import { Database as SqliteFile, SQLiteError } from "bun:sqlite";
import { statSync } from "node:fs";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { WebhooksVisibility } from "../settings.ts";
import type { Database, SqliteDatabase, Transaction } from "./database.ts";
import { DomainError } from "../errors.ts";
import { WriteAheadLog, logBytesMax } from "./write-ahead-log.ts";
import { Commit } from "./commit.ts";
import { initializeLogNumber } from "./wal-number.ts";
import { migrate } from "./migrate.ts";
import { type SqliteRecord, type LogState, WatchedFiles } from "./watched-files.ts";
import * as schema from "./schema.ts";
import { statementsOf } from "./statements.ts";
import { cacheVersionOf, cacheVersionOncePerTurn } from "./cache-version.ts";
import { Troubles } from "./disk-trouble.ts";
import { WriteQueue } from "./write.ts";
import { writerOfAppended, writingOutFirst } from "./write-out.ts";

/**
 * In older versions, two processes that write and checkpoint concurrently can lose a commit (SQLite's WAL-reset bug).
 */
const oldestSafeSqlite = "3.51.3";

/**
 * Opens the database file, creating it if it is missing, and applies missing migrations. `lockWaitMs` is how long a
 * write waits for a write of another process; `holdToMigrate` keeps servers away while tables change, and `onMigration`
 * is told of each step.
 * @throws DomainError `data_too_new` when a newer binary has used it; whatever `holdToMigrate` throws.
 */
export function openDatabase(
  path: string,
  {
    lockWaitMs = 5_000,
    holdToMigrate,
    onMigration,
    webhooksVisibility = "workspace",
  }: {
    lockWaitMs?: number;
    holdToMigrate?: (missing: string[]) => Disposable;
    onMigration?: (name: string, number: number, of: number) => void;
    webhooksVisibility?: WebhooksVisibility;
  } = {},
): SqliteDatabase {
  const logBytesFound = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const writer = new SqliteFile(path, { create: true, strict: true });
  try {
    // Set before the first statement that takes a lock, so that a second process waits instead of failing.
    writer.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    requireSafeSqlite(writer);
    writer.run("PRAGMA journal_mode = WAL");
    // FULL: a commit returns only when it is on disk, so that a 2xx response is never taken back.
    writer.run("PRAGMA synchronous = FULL");
    writer.run("PRAGMA temp_store = MEMORY");
    writer.run(`PRAGMA journal_size_limit = ${logBytesMax}`);
    migrate(writer, undefined, holdToMigrate, onMigration);
    // Overwrite deleted content, including that of freed pages. A copy that SQLite left when it moved a row to another
    // page may remain, and the WAL keeps old content until it is restarted. Set after the migrations, which would
    // otherwise write every page of the tables that they replace; the old content stays in free pages until they are
    // reused.
    writer.run("PRAGMA secure_delete = ON");
    initializeLogNumber(writer);
    // After the migrations: rebuilding a table with foreign keys on would delete its children.
    writer.run("PRAGMA foreign_keys = ON");
    // From here on the write queue waits for the lock, without blocking the event loop.
    writer.run("PRAGMA busy_timeout = 0");
  } catch (error) {
    writer.close();
    throw error;
  }

  const reader = new SqliteFile(path, { readonly: true, strict: true });
  reader.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  const version = reader.query<{ data_version: number }, []>("PRAGMA data_version");
  const read = Object.assign(drizzle(reader, { schema }), {
    $client: statementsOf(reader),
    engine: "sqlite" as const,
    cacheVersion: cacheVersionOncePerTurn(reader),
    webhooksVisibility,
  });
  const cacheVersion = cacheVersionOf(writer);
  // Any drizzle statement may change cacheable data; the statements of `prepared.ts`, which bypass drizzle, do not.
  const logger = {
    logQuery(sql: string) {
      if (/^select\b/i.test(sql)) return;
      tx.commit.hasChanged = true;
      cacheVersion.forget();
    },
  };
  const writeAppended = writerOfAppended(writer);
  const client = writingOutFirst(writer, () => {
    if (!tx.commit.appended.isLeftAside) writeAppended(tx.commit);
  });
  const tx: Transaction = Object.assign(drizzle(client, { schema, logger }), {
    $client: statementsOf(client),
    engine: "sqlite" as const,
    cacheVersion,
    webhooksVisibility,
    commit: new Commit(),
  });
  const listeners: Array<Parameters<Database["onWork"]>[0]> = [];
  const files = new WatchedFiles(path, recordOf(writer, reader));
  const log = new WriteAheadLog({ writer, reader }, files);
  const afterCommit = () => read.cacheVersion.forget();
  const afterResponses = (commit: Commit) => {
    try {
      if (commit.hasNews) for (const listener of listeners) listener(commit.subscriptionsWithWork, commit);
    } finally {
      log.checkpointWhenLarge();
      troubles.committed();
    }
  };
  let isLost = false;
  files.onLost(() => (isLost = true));
  const beforeCommit = () => {
    if (isLost) throw dataLost;
    log.assignNumber();
  };
  const onFailure = (error: unknown) => troubles.writeFailed(error);
  const queue = new WriteQueue(writer, tx, {
    lockWaitMs,
    writeAppended,
    beforeCommit,
    afterCommit,
    afterResponses,
    onFailure,
  });
  const probeWrite = () => queue.write(() => log.writeNumber());
  const troubles = new Troubles(log, probeWrite);

  return {
    ask: (question) => question(read),
    file: {
      watched: files,
      logBytesFound,
      reader,
      dataVersion: () => version.get()?.data_version ?? 0,
    },
    write: (change, work) => (isLost ? Promise.reject(dataLost) : queue.write(change, work)),
    observeCommits: (observer) => (queue.observer = observer),
    probeWrite: () => (isLost ? Promise.reject(dataLost) : probeWrite()),
    onWork: (listener) => void listeners.push(listener),
    failure: () => (isLost ? dataLost.message : troubles.failure()),
    onTrouble: (listener) => troubles.listen(listener),
    async close() {
      troubles.close();
      await queue.drained();
      reader.close();
      writer.close();
      files.close();
    },
  };
}

/** Reads memory shared by all connections, in one to three microseconds. */
function recordOf(writer: SqliteFile, reader: SqliteFile): SqliteRecord {
  const log = reader.query<LogState, []>("PRAGMA wal_checkpoint(NOOP)");
  const version = writer.query<{ data_version: number }, []>("PRAGMA data_version");
  return {
    log() {
      try {
        return log.get() ?? { log: 0, checkpointed: 0 };
      } catch (error) {
        // On a read-only file system, where commands can still read, there is nothing to checkpoint.
        if (error instanceof SQLiteError && error.code === "SQLITE_READONLY")
          return { log: 0, checkpointed: 0 };
        throw error;
      }
    },
    foreignChanges: () => version.get()?.data_version ?? 0,
  };
}

/** @throws Error when this build's SQLite can lose a commit of two processes. */
export function requireSafeSqlite(file: SqliteFile): void {
  const version =
    file.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version ?? "0";
  if (Bun.semver.order(version, oldestSafeSqlite) >= 0) return;
  throw new Error(
    `This build contains SQLite ${version}; ${oldestSafeSqlite} is the oldest version that is safe with two processes.`,
  );
}

const dataLost = new DomainError(
  "data_lost",
  "Files of this workspace were replaced or removed, so changes are no longer accepted. The server log names them.",
);
