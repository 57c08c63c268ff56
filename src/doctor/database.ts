import type { Database as SqliteFile } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import { requireDatabase } from "../data-folder.ts";
import { findDamage } from "../database/integrity.ts";
import { type Look, lookAt } from "../database/look.ts";
import { migrations } from "../database/migrations.ts";
import { requireSafeSqlite } from "../database/open.ts";
import { requireOwnLog } from "../database/wal-number.ts";
import { explainDataError } from "../system/data-errors.ts";
import { type Finding, failed, ok, type Patient, reasonOf, skipped, warning } from "./finding.ts";

/** A checkpoint brings the log back to 4 MB; a much larger one shows that none succeeds. In bytes. */
const largeLogBytes = 64_000_000;

const backup =
  "Stop the server and restore a backup: parley restore FILE. The .recover command of sqlite3 saves what is still readable.";

/** The names of this binary's migrations. */
const known = migrations.map(({ name }) => name);

/** The open database, or the finding that says why it cannot be opened. */
export type Opened = Look | (Disposable & { finding: Finding });

/** Opens the database without changing it. */
export function openForChecks({ dataDir }: Patient): Opened {
  const path = join(dataDir, "parley.db");
  const failedToOpen = (error: unknown, remedy?: string) => ({
    finding: failed("database", reasonOf(explainDataError(error, dataDir)), remedy),
    [Symbol.dispose]: () => {},
  });
  try {
    requireDatabase(dataDir);
    if (!statSync(path, { throwIfNoEntry: false })) {
      return failedToOpen(
        new Error(`There is no workspace in ${dataDir}.`),
        "Create one with parley init --team NAME --owner NAME, or name the right folder with --data-dir DIR.",
      );
    }
    requireOwnLog(path);
    const look = lookAt(path);
    try {
      // SQLite opens a file when it is first read.
      look.file.query("SELECT name FROM migrations LIMIT 1").get();
      return look;
    } catch (error) {
      look[Symbol.dispose]();
      throw error;
    }
  } catch (error) {
    if (error instanceof Error && /no such table/.test(error.message)) {
      return failedToOpen(new Error(`${path} is not a database created by parley, or holds nothing yet.`));
    }
    return failedToOpen(error);
  }
}

/** Checks that this build's SQLite is safe with several processes. */
export function checkSqlite(file: SqliteFile): Finding[] {
  try {
    requireSafeSqlite(file);
  } catch (error) {
    return [failed("SQLite", reasonOf(error))];
  }
  const [[version] = []] = file.query("SELECT sqlite_version()").values();
  return [ok("SQLite", String(version))];
}

/** Compares the migrations of the database with those of this binary, and applies none. */
export function checkMigrations(file: SqliteFile): Finding[] {
  return judgeMigrations(appliedIn(file), known);
}

/** Judges the names of the migrations that were applied by those that this binary knows. */
export function judgeMigrations(applied: readonly string[], ours: readonly string[]): Finding[] {
  const check = "migrations";
  const unknown = applied.filter((name) => !ours.includes(name));
  const pending = ours.filter((name) => !applied.includes(name));
  if (unknown.length > 0) {
    return [
      failed(
        check,
        `The data was last used by a newer parley: it holds ${unknown.join(", ")}, which this one does not know.`,
        "Install that version or a later one.",
      ),
    ];
  }
  if (pending.length > 0) {
    return [
      warning(
        check,
        `${pending.length} to apply, from ${pending[0]} on: the next server or command of this version applies them.`,
        "Back up the data first, and stop a server of the older version.",
      ),
    ];
  }
  return [ok(check, "none to apply")];
}

/** How often the check begins anew because another process has begun to use the database. */
const looksMax = 3;

/**
 * Reads what can be read in bounded time, or with `isFull` everything. A server may start meanwhile, whose changes must
 * not look like damage.
 */
export function checkIntegrity({ dataDir }: Patient, look: Look, isFull: boolean): Finding[] {
  const found = integrityIn(look, isFull);
  if (found) return found;
  for (let looks = 1; looks < looksMax; looks++) {
    using again = lookAt(join(dataDir, "parley.db"));
    const foundAgain = integrityIn(again, isFull);
    if (foundAgain) return foundAgain;
  }
  return [skipped("integrity", "the database changed while it was read; run doctor again")];
}

/** Undefined when what was read may be of two states. */
function integrityIn(look: Look, isFull: boolean): Finding[] | undefined {
  try {
    const found = integrityOf(look.file, isFull);
    return look.isOutdated() ? undefined : found;
  } catch (error) {
    if (look.isOutdated()) return undefined;
    throw error;
  }
}

function integrityOf(file: SqliteFile, isFull: boolean): Finding[] {
  const check = "integrity";
  if (isFull) {
    const faults = file
      .query("PRAGMA integrity_check(3)")
      .values()
      .map(([text]) => String(text));
    if (faults.join() !== "ok") return [failed(check, `Damaged: ${faults.join("; ")}.`, backup)];
    const [orphan] = file.query("PRAGMA foreign_key_check").values();
    if (orphan) {
      return [failed(check, `A row of ${String(orphan[0])} refers to a row that is missing.`, backup)];
    }
    return [ok(check, "every page, index and reference is sound")];
  }
  if (appliedIn(file).toSorted().join() !== known.toSorted().join()) {
    return [skipped(check, "the tables are of another version; parley doctor --full reads everything")];
  }
  const damage = findDamage(file);
  if (damage !== undefined) return [failed(check, `Damaged: ${damage}.`, backup)];
  return [ok(check, "what every request reads is sound; --full reads everything")];
}

/** Checks that the write-ahead log does not grow without bound. */
export function checkLogSize({ dataDir }: Patient): Finding[] {
  const check = "write-ahead log";
  const bytes = statSync(join(dataDir, "parley.db-wal"), { throwIfNoEntry: false })?.size ?? 0;
  const found = `${(bytes / 1_000_000).toFixed(1)} MB`;
  if (bytes < largeLogBytes) return [ok(check, found)];
  return [
    warning(
      check,
      `${found}: checkpoints do not get through, because a program keeps reading an old state or the disk fails.`,
      "End long-running readers of parley.db, such as an open sqlite3, and look for database.trouble in the log.",
    ),
  ];
}

function appliedIn(file: SqliteFile): string[] {
  return file
    .query<{ name: string }, []>("SELECT name FROM migrations ORDER BY name")
    .all()
    .map(({ name }) => name);
}
