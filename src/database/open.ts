import { Database as SqliteFile, SQLiteError } from "bun:sqlite";
import { statSync } from "node:fs";
import { drizzle } from "drizzle-orm/bun-sqlite";
import type { WebhooksVisibility } from "../config.ts";
import type { Database, Transaction } from "./database.ts";
import { DomainError } from "../errors.ts";
import { ChangeLog, logBytesMax } from "./change-log.ts";
import { Commit } from "./commit.ts";
import { beginNumbers, countLog } from "./log-number.ts";
import { migrate } from "./migrate.ts";
import { type Account, type LogState, OpenFiles } from "./open-files.ts";
import * as schema from "./schema.ts";
import { cacheVersionOf, cacheVersionOncePerTurn } from "./cache-version.ts";
import { Troubles } from "./trouble.ts";
import { WriteQueue } from "./write.ts";

/** Below this version two processes that write and checkpoint at once can lose a commit (SQLite's WAL-reset bug). */
const oldestSafeSqlite = "3.51.3";

/**
 * Opens the database file, creates it where it is missing, and applies the migrations that it lacks. `lockWaitMs` is how
 * long a write waits for one of another process to end; `holdToMigrate` keeps servers away while tables change.
 * @throws DomainError `data_too_new` when a newer binary has used it; what `holdToMigrate` throws.
 */
export function openDatabase(
  path: string,
  {
    lockWaitMs = 5_000,
    holdToMigrate,
    webhooksVisibility = "workspace",
  }: {
    lockWaitMs?: number;
    holdToMigrate?: () => Disposable;
    webhooksVisibility?: WebhooksVisibility;
  } = {},
): Database {
  const logBytesFound = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const writer = new SqliteFile(path, { create: true, strict: true });
  try {
    // Before anything that takes a lock: whoever comes second waits instead of failing.
    writer.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
    requireSafeSqlite(writer);
    writer.run("PRAGMA journal_mode = WAL");
    // FULL: a commit returns when it is on disk, so that a 2xx never takes back what it said.
    writer.run("PRAGMA synchronous = FULL");
    writer.run("PRAGMA temp_store = MEMORY");
    writer.run(`PRAGMA journal_size_limit = ${logBytesMax}`);
    migrate(writer, undefined, holdToMigrate);
    // What is deleted is overwritten, in pages that come free too. A copy that SQLite left when it moved a row to another
    // page may stay, and the log keeps what was before until it is begun anew. After the migrations: else they would write
    // every page of the tables that they replace; what those held stays in free pages until they are used again.
    writer.run("PRAGMA secure_delete = ON");
    beginNumbers(writer);
    // After the migrations: rebuilding a table under foreign keys would delete its children.
    writer.run("PRAGMA foreign_keys = ON");
    // From here on the queue waits for the lock itself, without holding up what else goes on.
    writer.run("PRAGMA busy_timeout = 0");
  } catch (error) {
    writer.close();
    throw error;
  }

  const reader = new SqliteFile(path, { readonly: true, strict: true });
  reader.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  const version = reader.query<{ data_version: number }, []>("PRAGMA data_version");
  const read = Object.assign(drizzle(reader, { schema }), {
    cacheVersion: cacheVersionOncePerTurn(reader),
    webhooksVisibility,
  });
  const cacheVersion = cacheVersionOf(writer);
  // Whatever drizzle runs may change the workspace; the statements of `prepared.ts` that go past it do not.
  const logger = {
    logQuery(sql: string) {
      if (/^select\b/i.test(sql)) return;
      tx.commit.hasChanged = true;
      cacheVersion.forget();
    },
  };
  const tx: Transaction = Object.assign(drizzle(writer, { schema, logger }), {
    cacheVersion,
    webhooksVisibility,
    commit: new Commit(),
  });
  const listeners: Array<Parameters<Database["onWork"]>[0]> = [];
  const files = new OpenFiles(path, accountOf(writer, reader));
  const log = new ChangeLog(writer, files);
  const afterCommit = () => read.cacheVersion.forget();
  const afterAnswers = ({ subscriptionsWithWork, hasFanOuts }: Commit) => {
    try {
      if (subscriptionsWithWork.size > 0 || hasFanOuts)
        for (const listener of listeners) listener(subscriptionsWithWork, hasFanOuts);
    } finally {
      log.tend();
      troubles.committed();
    }
  };
  let isLost = false;
  files.onLost(() => (isLost = true));
  const beforeCommit = () => {
    if (isLost) throw dataLost;
    log.count();
  };
  const onFailure = (error: unknown) => troubles.writeFailed(error);
  const queue = new WriteQueue(writer, tx, {
    lockWaitMs,
    beforeCommit,
    afterCommit,
    afterAnswers,
    onFailure,
  });
  // A new number for the log changes nothing else, and has a page written all the same.
  const troubles = new Troubles(log, () => queue.write(({ $client }) => countLog($client)));

  return {
    read,
    files,
    logBytesFound,
    write: (change) => (isLost ? Promise.reject(dataLost) : queue.write(change)),
    onWork: (listener) => void listeners.push(listener),
    dataVersion: () => version.get()?.data_version ?? 0,
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

/** Reads memory that all connections share, and costs a microsecond or three. */
function accountOf(writer: SqliteFile, reader: SqliteFile): Account {
  const log = reader.query<LogState, []>("PRAGMA wal_checkpoint(NOOP)");
  const version = writer.query<{ data_version: number }, []>("PRAGMA data_version");
  return {
    log() {
      try {
        return log.get() ?? { log: 0, checkpointed: 0 };
      } catch (error) {
        // On a read-only file system, where commands can still read, there is nothing to bring in.
        if (error instanceof SQLiteError && error.code === "SQLITE_READONLY")
          return { log: 0, checkpointed: 0 };
        throw error;
      }
    },
    foreignChanges: () => version.get()?.data_version ?? 0,
  };
}

function requireSafeSqlite(file: SqliteFile): void {
  const found =
    file.query<{ version: string }, []>("SELECT sqlite_version() AS version").get()?.version ?? "0";
  if (Bun.semver.order(found, oldestSafeSqlite) >= 0) return;
  throw new Error(
    `This build carries SQLite ${found}; ${oldestSafeSqlite} is the oldest that is safe with two processes.`,
  );
}

const dataLost = new DomainError(
  "data_lost",
  "The files of this workspace were exchanged or removed, so nothing is written any more. The log of the server says which.",
);
