import type { Database as SqliteFile } from "bun:sqlite";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { WebhooksVisibility } from "../settings.ts";
import type { TracedWork } from "../tracing/work.ts";
import type { Answer } from "./answer.ts";
import type { Commit } from "./commit.ts";
import type { WatchedFiles } from "./watched-files.ts";
import type * as schema from "./schema.ts";
import type { CacheVersion } from "./cache-version.ts";
import type { Statements } from "./statements.ts";
import type { TroubleListener } from "./disk-trouble.ts";

/** A connection for queries. It sees committed data only; inside a write it also sees the write's own changes. */
export type Connection = BunSQLiteDatabase<typeof schema> & {
  /** For statements that run with every request: without drizzle they cost half. */
  readonly $client: Statements;
  readonly engine: "sqlite" | "postgres";
  /** The version of cacheable data that this connection sees; see `cached`. */
  readonly cacheVersion: CacheVersion;
  /** `WEBHOOKS_VISIBILITY` of this process. It is kept here because every change in a channel queues events. */
  readonly webhooksVisibility: WebhooksVisibility;
};

/**
 * The connection inside a write. Only `Database.write` provides it, so changing data outside a write does not compile.
 */
export type Transaction = Connection & { commit: Commit };

/** Called with each commit of this process: the changes that shared it, and its duration in milliseconds. */
export type CommitObserver = {
  committed: (writes: number, durationMs: number) => void;
  failed: () => void;
};

/** An open workspace database. */
export type Database = {
  /**
   * Reads outside a write, and never sees uncommitted rows. On SQLite it returns what `question` returns, a value for a
   * synchronous one; on PostgreSQL a promise, and `question` may run several times, so it must have no effects. What
   * belongs together is one question: on PostgreSQL each is a round trip. There `onPresumed` may be called with an answer
   * that still has to be confirmed, for what can be begun already.
   */
  ask<T>(question: (db: Connection) => T | Promise<T>, onPresumed?: (answer: T) => void): Answer<T>;
  /**
   * Runs `change` in a transaction and resolves to its result once the transaction is on disk. Concurrent calls share
   * a commit. A call that throws is rolled back alone, for which the other calls of its commit may run a second time.
   * So `change` may await only the database, must have no side effects that cannot be repeated, and must not call
   * `write`. A synchronous `change` costs less than an async one. `work` is the request or the command that the write
   * belongs to, while traces are on.
   * @throws whatever `change` throws; DomainError `busy` when another process holds the lock for longer than 5
   *   seconds; `unwritable` when the disk is full or fails; `data_lost` once the database files have been replaced or
   *   removed: from then on nothing is written.
   */
  write<T>(change: (tx: Transaction) => T | Promise<T>, work?: TracedWork): Promise<T>;
  /**
   * Calls `listener` after each commit that gave subscriptions new work, with their ids, or that stored an event which
   * still has to be fanned out or is only read. The callers of the commit get their results first.
   */
  onWork(
    listener: (
      subscriptionIds: ReadonlySet<string>,
      besides: { readonly hasFanOuts: boolean; readonly subscriptionsToRead: ReadonlySet<string> },
    ) => void,
  ): void;
  /**
   * Why the data cannot be written or checkpointed, as a sentence; undefined when all is well. Reads nothing from
   * disk.
   */
  failure(): string | undefined;
  /** Lets the observer know of each commit from now on. There can be one. */
  observeCommits(observer: CommitObserver): void;
  /**
   * Makes a tiny write that changes no data, and resolves once it is on disk.
   * @throws what `write` throws.
   */
  probeWrite(): Promise<void>;
  /** Calls `listener` when a problem with the files begins and when it ends. */
  onTrouble(listener: TroubleListener): void;
  /** Undefined where the data is not in a file of this machine. */
  readonly file?: DatabaseFile;
  /** Waits for writes in flight, then closes the connections. */
  close(): Promise<void>;
};

/** What only a database in a file has. */
export type DatabaseFile = {
  /** The open files, and whether they are still those at their paths. */
  readonly watched: WatchedFiles;
  /**
   * The size of the WAL in bytes before it was opened. If it is not 0, the last process that had it open did not exit
   * cleanly, or another process still has it open.
   */
  readonly logBytesFound: number;
  /** The connection that `ask` uses, for what SQLite says about itself. */
  readonly reader: SqliteFile;
  /** Changes with every commit of any connection, in this process or another. Takes about a microsecond. */
  dataVersion(): number;
};

/** A workspace database in a file. */
export type SqliteDatabase = Database & { readonly file: DatabaseFile };
