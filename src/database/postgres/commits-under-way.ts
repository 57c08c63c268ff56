import type { Connections } from "./connections.ts";
import { changesLock, lockClass } from "./lock-keys.ts";
import { retried } from "./retries.ts";

// The newest event is as of the statement's beginning, the locks are looked up after it.
const statement = `
  SELECT (SELECT coalesce(max(seq), 0) FROM events), array_to_string(ARRAY(
    SELECT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${lockClass}
      AND objid = ${changesLock} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ), ' ')`;

/**
 * Returns the number of the newest event that is committed, and which transactions were changing the workspace just
 * afterwards. An event is given its number under the lock of changes, so one with a lower number that is committed later
 * belongs to one of them.
 * @throws what `Connections.query` throws.
 */
export async function selectCommitsUnderWay(
  connections: Connections,
): Promise<{ newestEvent: number; underWay: string[] }> {
  const { rows } = await retried(connections, statement);
  const [newest, transactions = ""] = (rows[0] ?? []) as [number?, string?];
  return {
    newestEvent: Number(newest ?? 0),
    underWay: transactions.split(" ").filter(Boolean),
  };
}
