import { Database as SqliteFile } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { moveStateOf, notHere } from "../database/move-state.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { writeLogNumberAfter } from "../database/wal-number.ts";
import type { Source } from "./side.ts";
import { countRows, readPage } from "./sqlite-pages.ts";

/** How long a write of another process is waited for, in milliseconds. */
const lockWaitMs = 5_000;

/**
 * The workspace in the data folder, whose tables are of this version. No server can start and no command can write until
 * it is closed. One that has left for `target` already is taken too: the last step of its move is missing.
 * @throws DomainError `conflict` when it is being served; `not_found` when it is elsewhere; SQLite's and the operating
 *   system's errors.
 */
export function openSqliteSource(dataDir: string, target: string): Source {
  using opening = new DisposableStack();
  opening.use(holdServerLock(dataDir, serverLockWaitMs));
  const path = join(dataDir, "parley.db");
  const file = new SqliteFile(path, { readwrite: true, strict: true, safeIntegers: true });
  opening.defer(() => file.close());
  const committed = opening.adopt(new SqliteFile(path, { readonly: true }), (each) => each.close());
  file.run(`PRAGMA busy_timeout = ${lockWaitMs}`);
  file.run("PRAGMA synchronous = FULL");
  file.run("BEGIN IMMEDIATE");
  const state = moveStateOf(file);
  if (state && !(state.state === "left" && state.place === target)) throw notHere(state, dataDir);
  const held = opening.move();

  return {
    place: dataDir,
    count: (table) => countRows(file, table),
    page: (table, after, limit) => readPage(file, table, after, limit),
    lastNumbers() {
      const rows = file
        .query<{ name: string; seq: bigint }, []>("SELECT name, seq FROM sqlite_sequence")
        .all();
      return new Map(rows.map(({ name, seq }) => [name, seq]));
    },
    leave(place) {
      file.run("INSERT OR REPLACE INTO move_state (id, state, place, since) VALUES (1, 'left', ?, ?)", [
        place,
        Date.now(),
      ]);
      writeLogNumberAfter(committed, file);
      file.run("COMMIT");
    },
    async [Symbol.asyncDispose]() {
      held.dispose();
    },
  };
}

/** Whether the data folder says that its workspace has left for another place. */
export function hasLeft(dataDir: string): boolean {
  const path = join(dataDir, "parley.db");
  if (!existsSync(path)) return false;
  try {
    using file = new SqliteFile(path, { readonly: true });
    return moveStateOf(file)?.state === "left";
  } catch {
    // Whoever opens it next says what is wrong with it.
    return false;
  }
}
