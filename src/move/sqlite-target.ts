import { Database as SqliteFile, type SQLQueryBindings } from "bun:sqlite";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hasPendingRestore } from "../backup/pending-restore.ts";
import { migrate } from "../database/migrate.ts";
import { arrivingFile, moveStateOf, notHere } from "../database/move-state.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { findMarkers } from "../deliveries/marker.ts";
import { DomainError } from "../errors.ts";
import { flush, makeFolder, touchFile } from "../system/on-disk.ts";
import { type Copied, copiedOf, type Target } from "./side.ts";
import { countRows, readPage } from "./sqlite-pages.ts";
import { keyText, type MovedTable, type Row } from "./tables.ts";

/** The endings of the files that SQLite makes next to a database. */
const besides = ["-wal", "-shm", "-journal"];

/**
 * A folder that a workspace from `source` is moved to. `putKey` puts its key there. The copy is a file of another name until it is whole, so nobody
 * takes it for a workspace.
 * @throws DomainError `conflict` when there is a workspace in the folder, or part of one from another source, or another
 *   move is running; SQLite's and the operating system's errors.
 */
export function openSqliteTarget(
  dataDir: string,
  { source, tables, putKey }: { source: string; tables: readonly MovedTable[]; putKey: () => void },
): Target {
  makeFolder(dataDir);
  using opening = new DisposableStack();
  opening.use(holdServerLock(dataDir, serverLockWaitMs));
  requireRoom(dataDir);
  const path = arrivingFile(dataDir);
  touchFile(path);
  const file = new SqliteFile(path, { readwrite: true, strict: true, safeIntegers: true });
  opening.defer(() => file.close());
  file.run("PRAGMA journal_mode = WAL");
  // Until the end nothing is promised, except that rows and progress belong together.
  file.run("PRAGMA synchronous = NORMAL");
  migrate(file);
  const state = moveStateOf(file);
  if (state && state.place !== source) throw notHere(state, dataDir);
  const isNew = state === undefined;
  const restart = file.transaction(() => {
    for (const { name } of tables) file.run(`DELETE FROM ${name}`);
    file.run("DELETE FROM move_progress");
    file.run("INSERT OR REPLACE INTO move_state (id, state, place, since) VALUES (1, 'arriving', ?, ?)", [
      source,
      Date.now(),
    ]);
  });
  if (isNew) restart();
  const append = file.transaction((table: MovedTable, rows: readonly Row[], copied: Copied) => {
    const places = table.columns.map(() => "?").join(", ");
    const columns = table.columns.map(({ name }) => name).join(", ");
    const insert = file.query<unknown, SQLQueryBindings[]>(
      `INSERT INTO ${table.name} (${columns}) VALUES (${places})`,
    );
    for (const row of rows) insert.run(...(row as SQLQueryBindings[]));
    file.run("INSERT OR REPLACE INTO move_progress (table_name, last_key, copied) VALUES (?, ?, ?)", [
      table.name,
      keyText(copied.lastKey),
      copied.rows,
    ]);
  });
  const held = opening.move();

  return {
    place: dataDir,
    count: (table) => countRows(file, table),
    page: (table, after, limit) => readPage(file, table, after, limit),
    copied() {
      const rows = file
        .query<{ name: string; key: string; copied: bigint }, []>(
          "SELECT table_name AS name, last_key AS key, copied FROM move_progress",
        )
        .all();
      return copiedOf(tables, rows);
    },
    restart: () => restart(),
    append: (table, rows, copied) => append(table, rows, copied),
    finish(lastNumbers) {
      requireWhole(file, dataDir);
      file
        .transaction(() => {
          for (const [name, last] of lastNumbers) {
            file.run("DELETE FROM sqlite_sequence WHERE name = ?", [name]);
            file.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [name, last]);
          }
          file.run("DELETE FROM move_progress");
          file.run("DELETE FROM move_state");
        })
        .immediate();
      file.run("PRAGMA optimize");
      // One file, without a log next to it that would stay under the old name.
      file.run("PRAGMA journal_mode = DELETE");
      flush(path);
      putKey();
      for (const marker of findMarkers(dataDir)) rmSync(marker.path, { force: true });
      renameSync(path, join(dataDir, "parley.db"));
      flush(dataDir);
    },
    async [Symbol.asyncDispose]() {
      held.dispose();
    },
  };
}

/** @throws DomainError `conflict` when something in the folder would be in the way of a workspace. */
function requireRoom(dataDir: string): void {
  if (hasPendingRestore(dataDir))
    throw new DomainError("conflict", `A restore in ${dataDir} has not ended. Start a server there first.`);
  const found = ["", ...besides]
    .map((ending) => `parley.db${ending}`)
    .find((name) => existsSync(join(dataDir, name)));
  if (found === undefined) return;
  throw new DomainError(
    "conflict",
    `There is a workspace in ${dataDir} already (${found}). Name another folder, or move its parley.db files away.`,
  );
}

/** @throws DomainError `data_damaged` when a row refers to one that is missing. */
function requireWhole(file: SqliteFile, dataDir: string): void {
  const fault = file.query<{ table: string; parent: string }, []>("PRAGMA foreign_key_check").get();
  if (!fault) return;
  throw new DomainError(
    "data_damaged",
    `The copy in ${dataDir} has a row in ${fault.table} that refers to none in ${fault.parent}. Nothing was changed ` +
      "where it comes from. Drop the copy with --discard.",
  );
}

/**
 * Drops what an unfinished move has copied to the folder. Returns whether there was any.
 * @throws DomainError `conflict` while a move is running; the operating system's errors.
 */
export function discardFromFolder(dataDir: string): boolean {
  const path = arrivingFile(dataDir);
  if (!existsSync(path)) return false;
  using _lock = holdServerLock(dataDir, serverLockWaitMs);
  for (const ending of [...besides, ""]) rmSync(`${path}${ending}`, { force: true });
  flush(dataDir);
  return true;
}
