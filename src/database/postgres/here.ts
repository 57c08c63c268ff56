import { type MoveState, moveStateQuery, notHere } from "../move-state.ts";
import type { Connections } from "./connections.ts";

/**
 * Checks that the workspace of the database is whole, and was not moved elsewhere. The tables are those of this version.
 * @throws DomainError `not_found` when it is elsewhere; the database's error.
 */
export async function requireHere(query: Connections["query"]): Promise<void> {
  const { rows } = await query(moveStateQuery);
  const [row] = rows;
  if (!row) return;
  const [state, place, since] = row as [MoveState["state"], string, number];
  throw notHere({ state, place, since }, "the database of PARLEY_DATABASE_URL");
}
