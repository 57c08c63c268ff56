import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { type MoveState, moveStateOf } from "../database/move-state.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { writeLogNumberAfter } from "../database/wal-number.ts";
import { moveState } from "../database/postgres/here.ts";
import { DomainError } from "../errors.ts";
import { timestamp } from "../timestamp.ts";
import { triggerName } from "./closed-tables.ts";
import { hasTable } from "./postgres-pages.ts";
import { openSession } from "./postgres-session.ts";
import { requireAlone } from "./postgres-source.ts";
import { movedTables } from "./tables.ts";

/** Holds deliveries from the last event on, unless they are held already. */
const holdStatement = (since: string, reason: string, lastEvent: string) => `
  INSERT INTO delivery_hold (id, since, kind, reason, last_event, markers)
  SELECT 1, ${since}, 'older_copy', ${reason}, ${lastEvent}, '{"machine":null,"fingerprints":[]}'
  WHERE NOT EXISTS (SELECT 1 FROM delivery_hold)`;

const triggersQuery = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB ?";

/**
 * Takes back that the workspace of the data folder has left. What waits to be delivered is held, since it may have been
 * delivered where the workspace was. Returns where that is.
 * @throws DomainError `conflict` when it has not left, or is being moved; SQLite's and the operating system's errors.
 */
export function undoInFolder(dataDir: string): string {
  using _lock = holdServerLock(dataDir, serverLockWaitMs);
  const path = join(dataDir, "parley.db");
  using file = new SqliteFile(path, { readwrite: true, strict: true });
  using committed = new SqliteFile(path, { readonly: true });
  file.run("PRAGMA busy_timeout = 5000");
  file.run("PRAGMA synchronous = FULL");
  return file
    .transaction(() => {
      const { place, since } = requireLeft(moveStateOf(file), dataDir);
      for (const { name } of file.query<{ name: string }, [string]>(triggersQuery).all(`${triggerName}_*`))
        file.run(`DROP TRIGGER ${name}`);
      const lastEvent = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)";
      file.run(holdStatement("?", "?", lastEvent), [Date.now(), whyHeld(place, since)]);
      file.run("DELETE FROM move_state");
      writeLogNumberAfter(committed, file);
      return place;
    })
    .immediate();
}

/**
 * As `undoInFolder`, for the database of the URL, which is shown as `here`.
 * @throws DomainError `conflict` as there; `unavailable` when it cannot be reached.
 */
export async function undoInPostgres(url: string, here: string): Promise<string> {
  await using opened = await openSession(url, here);
  const { session } = opened;
  await requireAlone(session, here);
  const state = (await hasTable(session, "move_state")) ? await moveState(session.query) : undefined;
  const { place, since } = requireLeft(state, here);
  await session.query("BEGIN");
  for (const { name } of movedTables())
    await session.script(`DROP TRIGGER IF EXISTS ${triggerName} ON ${name}`);
  const lastEvent = "coalesce((SELECT last_value FROM events_seq_seq WHERE is_called), 0)";
  await session.query(holdStatement("$1::bigint", "$2", lastEvent), [Date.now(), whyHeld(place, since)]);
  await session.query("DELETE FROM move_state");
  await session.query("COMMIT");
  return place;
}

function requireLeft(state: MoveState | undefined, here: string): MoveState {
  if (state?.state === "left") return state;
  throw new DomainError("conflict", `The workspace in ${here} was not moved, so there is nothing to undo.`);
}

function whyHeld(place: string, since: number): string {
  return `This is an older copy: the workspace was in ${place} from ${timestamp(since)} on.`;
}
