import { followClock } from "../../system/workspace-clock.ts";
import type { Connections } from "./connections.ts";

/** The time of the database, in milliseconds since 1970, in SQL. */
export const timeOfDatabase = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Makes this process follow the clock of the database. */
export async function readClock(connections: Pick<Connections, "query">): Promise<void> {
  const askedAt = performance.now();
  const { rows } = await connections.query(`SELECT ${timeOfDatabase}`);
  followClock(Number(rows[0]?.[0]), askedAt);
}
