import type { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { timestamp } from "../timestamp.ts";

/**
 * Why nobody may use a database: part of a workspace is `arriving` in it from `place`, or its workspace has `left` for
 * `place`. `since` is in milliseconds since 1970.
 */
export type MoveState = { state: "arriving" | "left"; place: string; since: number };

/** The query for the only row, which is missing while the workspace is whole and here. */
export const moveStateQuery = "SELECT state, place, since FROM move_state WHERE id = 1";

/** Why nobody may use the database on SQLite; undefined when the workspace is whole and here. */
export function moveStateOf(file: SqliteFile): MoveState | undefined {
  const row = file.query<Omit<MoveState, "since"> & { since: number | bigint }, []>(moveStateQuery).get();
  return row ? { ...row, since: Number(row.since) } : undefined;
}

/**
 * Checks that the workspace of the database on SQLite, which is shown as `here`, is whole and was not moved elsewhere.
 * @throws DomainError `not_found`.
 */
export function requireHere(file: SqliteFile, here: string): void {
  const state = moveStateOf(file);
  if (state) throw notHere(state, here);
}

/** The file of a workspace that is arriving in the folder. It gets the name of a database when it is whole. */
export function arrivingFile(dataDir: string): string {
  return join(dataDir, "parley.db.arriving");
}

/** The error for whoever opens the database at `here`, which is a folder or a URL without its password. */
export function notHere({ state, place, since }: MoveState, here: string): DomainError {
  if (state === "arriving") {
    return new DomainError(
      "not_found",
      `The workspace in ${here} is not whole: the move from ${place} that began at ${timestamp(since)} has not ended. ` +
        "Go on with the same parley move; or drop what was copied, with --discard after it.",
    );
  }
  const isDatabase = /^postgres(ql)?:/.test(place);
  return new DomainError(
    "not_found",
    `The workspace in ${here} was moved to ${place} at ${timestamp(since)}. ` +
      `${isDatabase ? "Set PARLEY_DATABASE_URL to use it there" : "Use it there with --data-dir, without PARLEY_DATABASE_URL"}. To go back to the ` +
      "state that was left here, without what was changed there: parley move --undo",
  );
}
