import { SQLiteError } from "bun:sqlite";
import { accessSync, constants, statfsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { errorCode } from "./error-code.ts";
import { linkRefused } from "./trusted-files.ts";

/** What SQLite takes at once when it opens a database, in bytes: the index of its log. */
const takenAtOnce = 32_768;

/** The refusal that stands for the system's or SQLite's error about the data folder; any other error as it is. */
export function explainDataError(error: unknown, dataDir: string): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  const path = "path" in error && typeof error.path === "string" ? error.path : dataDir;
  return explainSystemError(code, path, dataDir) ?? explainSqliteError(error, dataDir);
}

/** The refusal that stands for SQLite's error about the workspace in the folder; any other error as it is. */
export function explainSqliteError(error: unknown, dataDir: string): unknown {
  const found = sqliteErrorOf(error);
  if (!found) return error;
  const code = found.code ?? "";
  if (code.startsWith("SQLITE_BUSY")) {
    return new DomainError("busy", "Another process kept the database locked; try again in a moment.");
  }
  if (code === "SQLITE_NOTADB") {
    return new DomainError("invalid", `${join(dataDir, "parley.db")} is not a database of parley.`);
  }
  if (code.startsWith("SQLITE_CORRUPT")) return dataDamaged(dataDir, found.message);
  if (code === "SQLITE_FULL") return explainSystemError("ENOSPC", dataDir, dataDir);
  // Of the others SQLite says only what it was about to do; the system says why that cannot be.
  if (!/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return error;
  return (
    explainSystemError(whyNotWritable(dataDir) ?? "", dataDir, dataDir) ??
    cannotBeWritten(code, dataDir, error)
  );
}

/** The refusal of a database that cannot be read; `what` says what was found. */
export function dataDamaged(dataDir: string, what: string): DomainError {
  const path = join(dataDir, "parley.db");
  return new DomainError(
    "data_damaged",
    `${path} is damaged (${what}). Put a copy of it back while no parley runs, without the parley.db-wal and ` +
      "parley.db-shm of before; without a copy, sqlite3's command .recover saves what can still be read.",
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
        `${path} is on a read-only file system. Have it mounted for writing, or choose another data folder with ` +
          "--data-dir DIR or PARLEY_DATA_DIR.",
      );
    case "EACCES":
    case "EPERM":
      return new DomainError(
        "forbidden",
        `This login may not use ${path}. Run parley as the login that it belongs to, or give it to this one (chown).`,
      );
    case "ELOOP":
      return linkRefused(path);
    case "EEXIST":
    case "ENOTDIR":
      return new DomainError("invalid", `${dataDir} is not a folder.`);
    default:
      return undefined;
  }
}

function cannotBeWritten(code: string, dataDir: string, error: unknown): unknown {
  if (code.startsWith("SQLITE_IOERR")) return error;
  return new DomainError("forbidden", `The data folder ${dataDir} cannot be written with this login.`);
}

/** The system's word for why the folder cannot be written; undefined when it can, as far as the system knows. */
function whyNotWritable(dataDir: string): string | undefined {
  try {
    accessSync(dataDir, constants.W_OK);
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize < takenAtOnce ? "ENOSPC" : undefined;
  } catch (error) {
    return errorCode(error);
  }
}

/** SQLite's own error in the one that drizzle puts around it. A refusal has said already what there is to say. */
function sqliteErrorOf(error: unknown): SQLiteError | undefined {
  if (error instanceof SQLiteError) return error;
  if (error instanceof DomainError) return undefined;
  return error instanceof Error ? sqliteErrorOf(error.cause) : undefined;
}
