import type { Database as SqliteFile, Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import { writeLogNumberAfter } from "./wal-number.ts";
import type { LogState, WatchedFiles } from "./watched-files.ts";

/** The number of pages in the WAL at which it is checkpointed. */
const pagesMax = 1_000;

/**
 * The size in bytes to which a checkpoint truncates a WAL (`parley.db-wal`) that grew larger: the pages, each with its
 * header.
 */
export const logBytesMax = 32 + pagesMax * (24 + 4_096);

/**
 * The write-ahead log. SQLite would checkpoint it automatically. This class does it instead, so that the database file
 * is verified first and the bytes that a checkpoint writes are known to come from this process.
 */
export class WriteAheadLog {
  readonly #writer: SqliteFile;
  readonly #reader: SqliteFile;
  readonly #files: WatchedFiles;
  readonly #checkpointStatement: Statement<LogState, []>;
  readonly #changesStatement: Statement<{ total: number }, []>;
  #changesBefore = 0;
  /** The number of pages in the WAL when a reader last kept a checkpoint from copying them all; otherwise 0. */
  #pagesKept = 0;

  /** `reader` is a connection that never sees what `writer` has not committed. */
  constructor({ writer, reader }: { writer: SqliteFile; reader: SqliteFile }, files: WatchedFiles) {
    this.#writer = writer;
    this.#reader = reader;
    this.#files = files;
    writer.run("PRAGMA wal_autocheckpoint = 0");
    this.#checkpointStatement = writer.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#changesStatement = writer.prepare("SELECT total_changes() AS total");
  }

  /** The size of the WAL in bytes. */
  get bytes(): number {
    return statSync(`${this.#writer.filename}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Call this at the end of each transaction. A transaction that restarts the WAL gives it a new number
   * (`log-number.ts`).
   */
  assignNumber(): void {
    const { log, checkpointed } = this.#files.readLog();
    if (log > checkpointed) return;
    const total = this.#changesStatement.get()?.total ?? 0;
    if (total > this.#changesBefore) this.writeNumber();
    this.#changesBefore = total;
  }

  /**
   * Writes the number after the committed one inside the open transaction, once or several times. That changes no data
   * but writes a page, so it also tells whether anything can be written.
   */
  writeNumber(): void {
    writeLogNumberAfter(this.#reader, this.#writer);
  }

  /**
   * Call this after each commit: checkpoints the WAL once it is large enough. While a long reader such as a backup keeps
   * it from being copied, this tries again only after as many pages more: each try costs more the longer the WAL is.
   */
  checkpointWhenLarge(): void {
    const { log: pages } = this.#files.readLog();
    if (pages < this.#pagesKept) this.#pagesKept = 0;
    if (pages < this.#pagesKept + pagesMax) return;
    try {
      const state = this.checkpoint();
      this.#pagesKept = state && state.checkpointed < state.log ? state.log : 0;
    } catch {
      // The changes are safe in the WAL, and the next commit retries.
    }
  }

  /**
   * Copies the WAL into the database file, except for pages that a reader still needs the old version of. Returns the
   * WAL's state afterwards, or undefined if nothing was done because the database file may have been replaced.
   * @throws SQLite's error.
   */
  checkpoint(): LogState | undefined {
    if (this.#files.isInDoubt) return undefined;
    try {
      return this.#checkpointStatement.get() ?? undefined;
    } finally {
      this.#files.acceptOwnCheckpoint();
    }
  }
}
