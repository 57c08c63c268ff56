import { Database as SqliteFile } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type MoveState, moveStateOf, notHere } from "../database/move-state.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { writeLogNumberAfter } from "../database/wal-number.ts";
import { closingOnSqlite } from "./closed-tables.ts";
import type { Source } from "./side.ts";
import { countRows, readPage } from "./sqlite-pages.ts";
import type { MovedTable } from "./tables.ts";

/** How long a write of another process is waited for, in milliseconds. */
const lockWaitMs = 5_000;

/**
 * The workspace in the data folder, whose tables are of this version. No server can start and no command can write until
 * it is closed. One that has left for `target` already is taken too: the last step of its move is missing.
 * @throws DomainError `conflict` when it is being served; `not_found` when it is elsewhere; SQLite's and the operating
 *   system's errors.
 */
export function openSqliteSource(
  dataDir: string,
  { target, tables }: { target: string; tables: readonly MovedTable[] },
): Source {
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
      file.run(closingOnSqlite(tables));
      writeLogNumberAfter(committed, file);
      file.run("COMMIT");
    },
    async [Symbol.asyncDispose]() {
      held.dispose();
    },
  };
}

/** Where the workspace of the data folder has left for; undefined when it is here. */
export function departureFrom(dataDir: string): MoveState | undefined {
  const path = join(dataDir, "parley.db");
  if (!existsSync(path)) return undefined;
  try {
    using file = new SqliteFile(path, { readonly: true });
    const state = moveStateOf(file);
    return state?.state === "left" ? state : undefined;
  } catch {
    // Whoever opens it next says what is wrong with it.
    return undefined;
  }
}
