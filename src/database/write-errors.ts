import { SQLiteError } from "bun:sqlite";
import { DomainError } from "../errors.ts";

/** SQLite errors that prevent every write, with their meaning to an operator and the remedy. */
const causes: ReadonlyArray<{ code: RegExp; cause: string; remedy: string }> = [
  {
    // IOERR_SHMSIZE concerns the memory shared by connections, which is a file too.
    code: /^SQLITE_(FULL|IOERR_SHMSIZE)$/,
    cause: "The disk is full",
    remedy: "make room on the disk of the data folder",
  },
  { code: /^SQLITE_IOERR/, cause: "The disk reports an error", remedy: "check the system log" },
  { code: /^SQLITE_READONLY/, cause: "The data folder is read-only", remedy: "make it writable" },
  { code: /^SQLITE_(CORRUPT|NOTADB)/, cause: "The database is damaged", remedy: "restore it from a backup" },
  {
    code: /^SQLITE_BUSY/,
    cause: "Another process keeps the database locked",
    remedy: "wait until it is done",
  },
];

/**
 * Why data cannot be written, in words: "The disk is full". Undefined for an error that concerns the change itself
 * rather than the storage.
 */
export function causeOf(error: unknown): string | undefined {
  return storageFailure(error)?.cause;
}

/** The DomainError, `busy` or `unwritable`, for an SQLite error; any other error unchanged. */
export function explainWriteError(error: unknown): unknown {
  const failure = storageFailure(error);
  if (!failure) return error;
  const message = `${failure.cause}. Nothing was saved; ${failure.remedy} and try again.`;
  // Without drizzle's wrapper, whose message quotes the values of the statement.
  return new DomainError(isBusy(error) ? "busy" : "unwritable", message, { cause: sqliteError(error) });
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return sqliteError(error)?.code?.startsWith("SQLITE_BUSY") ?? false;
}

function storageFailure(error: unknown) {
  const code = sqliteError(error)?.code;
  return code === undefined ? undefined : causes.find((candidate) => candidate.code.test(code));
}

function sqliteError(error: unknown): SQLiteError | undefined {
  if (error instanceof SQLiteError) return error;
  return error instanceof Error ? sqliteError(error.cause) : undefined;
}
