import { SQLiteError } from "bun:sqlite";
import { accessSync, constants, statfsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { errorCode } from "./error-code.ts";
import { symbolicLinkError } from "./trusted-files.ts";

/** The disk space that SQLite needs at once to open a database, in bytes: the index of its WAL. */
const openingBytes = 32_768;

/** The DomainError for a system or SQLite error about the data folder; any other error unchanged. */
export function explainDataError(error: unknown, dataDir: string): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  const path = "path" in error && typeof error.path === "string" ? error.path : dataDir;
  return explainSystemError(code, path, dataDir) ?? explainSqliteError(error, dataDir);
}

/** The DomainError for an SQLite error about the workspace in the folder; any other error unchanged. */
export function explainSqliteError(error: unknown, dataDir: string): unknown {
  const sqliteError = sqliteErrorOf(error);
  if (!sqliteError) return error;
  const code = sqliteError.code ?? "";
  if (code.startsWith("SQLITE_BUSY")) {
    return new DomainError("busy", "Another process kept the database locked; try again in a moment.");
  }
  if (code === "SQLITE_NOTADB") {
    return new DomainError("invalid", `${join(dataDir, "parley.db")} is not a database created by parley.`);
  }
  if (code.startsWith("SQLITE_CORRUPT")) return dataDamaged(dataDir, sqliteError.message);
  if (code === "SQLITE_FULL") return explainSystemError("ENOSPC", dataDir, dataDir);
  // SQLite's other errors name only the operation that failed; the system knows why.
  if (!/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return error;
  return (
    explainSystemError(whyNotWritable(dataDir) ?? "", dataDir, dataDir) ??
    cannotBeWritten(code, dataDir, error)
  );
}

/** The error for a database that cannot be read; `found` is what a check or SQLite reported. */
export function dataDamaged(dataDir: string, found: string): DomainError {
  const path = join(dataDir, "parley.db");
  return new DomainError(
    "data_damaged",
    `${path} is damaged (${found}). Stop the server and restore a backup: parley restore FILE. Without a backup, the ` +
      ".recover command of sqlite3 saves what is still readable.",
  );
}

function explainSystemError(code: string, path: string, dataDir: string): DomainError | undefined {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return new DomainError(
        "unwritable",
        `The disk that holds ${dataDir} is full. Nothing is lost: make room on it and try again.`,
      );
    case "EROFS":
      return new DomainError(
        "unwritable",
        `${path} is on a read-only file system. Mount it read-write, or choose another data folder with ` +
          "--data-dir DIR or PARLEY_DATA_DIR.",
      );
    case "EACCES":
    case "EPERM":
      return new DomainError(
        "forbidden",
        `This login may not use ${path}. Run parley as the login that owns it, or change its owner (chown).`,
      );
    case "ELOOP":
      return symbolicLinkError(path);
    case "EEXIST":
    case "ENOTDIR":
      return new DomainError("invalid", `${dataDir} is not a folder.`);
    default:
      return undefined;
  }
}

function cannotBeWritten(code: string, dataDir: string, error: unknown): unknown {
  if (code.startsWith("SQLITE_IOERR")) return error;
  return new DomainError("forbidden", `The data folder ${dataDir} is not writable for this login.`);
}

/**
 * The system's error code for why the folder cannot be written; undefined when it can be, as far as the system knows.
 */
function whyNotWritable(dataDir: string): string | undefined {
  try {
    accessSync(dataDir, constants.W_OK);
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize < openingBytes ? "ENOSPC" : undefined;
  } catch (error) {
    return errorCode(error);
  }
}

/** SQLite's error inside drizzle's wrapper. A DomainError already has its message. */
function sqliteErrorOf(error: unknown): SQLiteError | undefined {
  if (error instanceof SQLiteError) return error;
  if (error instanceof DomainError) return undefined;
  return error instanceof Error ? sqliteErrorOf(error.cause) : undefined;
}
