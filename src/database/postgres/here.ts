import { type MoveState, moveStateQuery, notHere } from "../move-state.ts";
import type { Connections } from "./connections.ts";

/** What errors call the database. */
export const databaseOfSettings = "the database of PARLEY_DATABASE_URL";

/** Why nobody may use the database, whose tables are of this version; undefined when the workspace is whole and here. */
export async function moveState(query: Connections["query"]): Promise<MoveState | undefined> {
  const { rows } = await query(moveStateQuery);
  const [row] = rows;
  if (!row) return undefined;
  const [state, place, since] = row as [MoveState["state"], string, number];
  return { state, place, since };
}

/**
 * Checks that the workspace of the database is whole, and was not moved elsewhere. The tables are those of this version.
 * @throws DomainError `not_found` when it is elsewhere; the database's error.
 */
export async function requireHere(query: Connections["query"]): Promise<void> {
  const state = await moveState(query);
  if (state) throw notHere(state, databaseOfSettings);
}
