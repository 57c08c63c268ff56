import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { type MoveState, moveStateOf } from "../database/move-state.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { writeLogNumberAfter } from "../database/wal-number.ts";
import { DomainError } from "../errors.ts";
import { timestamp } from "../timestamp.ts";

/** Holds deliveries, unless they are held already. */
const holdStatement = `
  INSERT INTO delivery_hold (id, since, kind, reason, last_event, markers)
  SELECT 1, ?, 'older_copy', ?, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0), '{"machine":null,"fingerprints":[]}'
  WHERE NOT EXISTS (SELECT 1 FROM delivery_hold)`;

/**
 * Takes back that the workspace of the data folder has left. What waits to be delivered is held, since it may have been
 * delivered where the workspace was. Returns where that is.
 * @throws DomainError `conflict` when it has not left; SQLite's and the operating system's errors.
 */
export function undoInFolder(dataDir: string): MoveState {
  using _lock = holdServerLock(dataDir, serverLockWaitMs);
  const path = join(dataDir, "parley.db");
  using file = new SqliteFile(path, { readwrite: true, strict: true });
  using committed = new SqliteFile(path, { readonly: true });
  file.run("PRAGMA busy_timeout = 5000");
  file.run("PRAGMA synchronous = FULL");
  return file
    .transaction(() => {
      const state = moveStateOf(file);
      if (state?.state !== "left")
        throw new DomainError(
          "conflict",
          `The workspace in ${dataDir} was not moved, so there is nothing to undo.`,
        );
      const reason = `This is an older copy: the workspace was in ${state.place} from ${timestamp(state.since)} on.`;
      file.run(holdStatement, [Date.now(), reason]);
      file.run("DELETE FROM move_state");
      writeLogNumberAfter(committed, file);
      return state;
    })
    .immediate();
}
