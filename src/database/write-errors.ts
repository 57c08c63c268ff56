import { SQLiteError } from "bun:sqlite";
import { DomainError } from "../errors.ts";

/** Which errors of SQLite say that nothing can be written, what they mean to an operator, and what helps. */
const causes: ReadonlyArray<{ code: RegExp; cause: string; remedy: string }> = [
  {
    // The second is about the memory that connections share, which is a file too.
    code: /^SQLITE_(FULL|IOERR_SHMSIZE)$/,
    cause: "The disk is full",
    remedy: "make room on the disk of the data folder",
  },
  { code: /^SQLITE_IOERR/, cause: "The disk reports an error", remedy: "look for it in the system's log" },
  { code: /^SQLITE_READONLY/, cause: "The data folder is read-only", remedy: "make it writable" },
  { code: /^SQLITE_(CORRUPT|NOTADB)/, cause: "The database is damaged", remedy: "restore it from a backup" },
  {
    code: /^SQLITE_BUSY/,
    cause: "Another process keeps the database locked",
    remedy: "wait until it is done",
  },
];

/**
 * What keeps the data from being written, in words: "The disk is full". Undefined for an error that is about the change
 * and not about where it is written.
 */
export function causeOf(error: unknown): string | undefined {
  return found(error)?.cause;
}

/** The refusal, `busy` or `unwritable`, that stands for SQLite's error; any other error as it is. */
export function explainWriteError(error: unknown): unknown {
  const known = found(error);
  if (!known) return error;
  const message = `${known.cause}. Nothing was saved; ${known.remedy} and try again.`;
  // Without what drizzle puts around it, which quotes the values of the statement.
  return new DomainError(isBusy(error) ? "busy" : "unwritable", message, { cause: sqliteError(error) });
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return sqliteError(error)?.code?.startsWith("SQLITE_BUSY") ?? false;
}

function found(error: unknown) {
  const code = sqliteError(error)?.code;
  return code === undefined ? undefined : causes.find((each) => each.code.test(code));
}

function sqliteError(error: unknown): SQLiteError | undefined {
  if (error instanceof SQLiteError) return error;
  return error instanceof Error ? sqliteError(error.cause) : undefined;
}
