import type { Connections } from "./connections.ts";
import { changesLock, lockClass } from "./lock-keys.ts";

// A transaction that is idle ends by itself. One whose process stopped in the middle of sending a statement does not:
// for the database that is active.
const endQuery = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'ClientRead' AND state_change < clock_timestamp() - interval '3 seconds' AND pid IN (
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${lockClass} AND objid = ${changesLock}
      AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

/**
 * Ends connections that hold the lock of changes while nothing has come from their process for seconds: it hangs or is
 * gone. What they had begun is undone. Call this after a wait for the lock was in vain.
 */
export async function endStuckHolders({ query }: Pick<Connections, "query">): Promise<void> {
  // Whoever waits for the lock next finds out whether that was of use.
  await query(endQuery).catch(() => {});
}
