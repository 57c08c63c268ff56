import type { Database as SqliteFile, Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import { countLog } from "./log-number.ts";
import type { LogState, OpenFiles } from "./open-files.ts";

/** So many pages of changes are gathered in the log before they are brought into the database file. */
const pagesMax = 1_000;

/** What the log (`parley.db-wal`) is cut back to after a change that took more: so many pages, each with its header. */
export const logBytesMax = 32 + pagesMax * (24 + 4_096);

/**
 * The log of changes, which SQLite would bring into the database file by itself. It is done here so that the file is
 * looked at before, and what is written to it is known to be ours.
 */
export class ChangeLog {
  readonly #writer: SqliteFile;
  readonly #files: OpenFiles;
  readonly #bringIn: Statement<LogState, []>;
  readonly #changes: Statement<{ made: number }, []>;
  #changesBefore = 0;

  constructor(writer: SqliteFile, files: OpenFiles) {
    this.#writer = writer;
    this.#files = files;
    writer.run("PRAGMA wal_autocheckpoint = 0");
    this.#bringIn = writer.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#changes = writer.prepare("SELECT total_changes() AS made");
  }

  /** How much disk the log takes, in bytes. */
  get bytes(): number {
    return statSync(`${this.#writer.filename}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** To be called in each transaction, at its end: one that begins the log anew gives it its number. */
  count(): void {
    const { log, checkpointed } = this.#files.askLog();
    if (log > checkpointed) return;
    const made = this.#changes.get()?.made ?? 0;
    if (made > this.#changesBefore) countLog(this.#writer);
    this.#changesBefore = made;
  }

  /** To be called after each commit. */
  tend(): void {
    if (this.#files.askLog().log < pagesMax) return;
    try {
      this.bringIn();
    } catch {
      // The changes are safe in the log, and the next commit tries again.
    }
  }

  /**
   * Brings the log into the database file as far as nobody still reads what was before, and returns how it stands then.
   * Undefined, and nothing is done, while the file may not be the one that was opened.
   * @throws SQLite's error.
   */
  bringIn(): LogState | undefined {
    if (this.#files.isInDoubt) return undefined;
    try {
      return this.#bringIn.get() ?? undefined;
    } finally {
      this.#files.acceptOwnWrite();
    }
  }
}
