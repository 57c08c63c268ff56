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
    remedy: "end that process",
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
  const cause = found(error);
  if (!cause) return error;
  if (isBusy(error)) {
    return new DomainError(
      "busy",
      "Another process kept the database locked. Nothing was changed; try again in a moment.",
      { cause: error },
    );
  }
  return new DomainError("unwritable", `${cause.cause}. Nothing was saved; ${cause.remedy} and try again.`, {
    cause: error,
  });
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith("SQLITE_BUSY");
}

function found(error: unknown) {
  return causes.find(({ code }) => code.test(codeOf(error)));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
