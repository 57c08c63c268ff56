import type { Database as SqliteFile } from "bun:sqlite";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { WebhooksVisibility } from "../config.ts";
import type { Commit } from "./commit.ts";
import type { OpenFiles } from "./open-files.ts";
import type * as schema from "./schema.ts";
import type { CacheVersion } from "./cache-version.ts";
import type { TroubleListener } from "./trouble.ts";

/** A connection for queries. What is read is committed, except inside a write, which also sees its own changes. */
export type Connection = BunSQLiteDatabase<typeof schema> & {
  /** The driver's own connection, for the statements that every request runs. */
  readonly $client: SqliteFile;
  /** As the connection sees it; see `cached`. */
  readonly cacheVersion: CacheVersion;
  /** `WEBHOOKS_VISIBILITY`, as this process was given it; here, because whatever changes a channel queues events. */
  readonly webhooksVisibility: WebhooksVisibility;
};

/** The connection inside a write. Only `Database.write` hands it out, so a change outside of a write does not compile. */
export type Transaction = Connection & { commit: Commit };

export type Database = {
  /** For queries: never sees an uncommitted row. */
  read: Connection;
  /**
   * Runs `change` in a transaction and resolves to what it returns once the transaction is on disk. Calls of the same
   * moment share one commit, and one that throws is undone alone: for that, those beside it may be run once more. So
   * `change` awaits nothing but the database, does nothing else that must not be done twice, and never calls `write`.
   * One that awaits nothing at all costs less as a plain function.
   * @throws what `change` throws; DomainError `busy` when another process holds the lock for longer than 5 seconds,
   *   `unwritable` when the disk is full or refuses to write, `data_lost` once the files are found to be lost: then nothing
   *   is written any more.
   */
  write<T>(change: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * Calls `listener` after each commit that gave subscriptions new work, with their ids, or that stored an event which is
   * still to be queued for its subscriptions; whoever asked for the changes is answered before.
   */
  onWork(listener: (subscriptionIds: ReadonlySet<string>, hasFanOuts: boolean) => void): void;
  /** Changes whenever any connection, of this process or another, has committed. Costs about a microsecond. */
  dataVersion(): number;
  /** Why the data cannot be written or kept in order, as a sentence; undefined while all is well. Asks no disk. */
  failure(): string | undefined;
  /** Tells `listener` of what goes wrong with the files, and when it is over. */
  onTrouble(listener: TroubleListener): void;
  /** What was opened, and whether it is still there. */
  files: OpenFiles;
  /**
   * How many bytes the log held before it was opened. More than none: the last process to have it open did not end
   * cleanly, or another one still has it open.
   */
  logBytesFound: number;
  /** Waits for the writes under way, then closes the files. */
  close(): Promise<void>;
};
