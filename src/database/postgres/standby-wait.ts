import { ConnectionTrouble } from "./connection-trouble.ts";
import type { Connections } from "./connections.ts";
import { explainDatabaseError, isOutcomeUnknown, mayBeUnconfirmed } from "./errors.ts";

/** How long the look may take, in milliseconds: it must not delay the news of a database that does not answer. */
const lookMs = 2_000;

// A standby that is there confirms within milliseconds.
const waitingQuery = `
  SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - interval '3 seconds')`;

/** Whether commits have been waiting for a synchronous standby for seconds. False where that cannot be found out. */
export async function isWaitingForStandby({ query }: Pick<Connections, "query">): Promise<boolean> {
  const look = query(waitingQuery).then(
    ({ rows }) => rows[0]?.[0] === 1,
    () => false,
  );
  return await Promise.race([look, Bun.sleep(lookMs).then(() => false)]);
}

/**
 * Call this before a session writes that nobody else may use: given up while its commit waits for a standby, it would keep
 * one of the database's connections until that is back.
 * @throws DomainError `unwritable` while commits wait for a synchronous standby.
 */
export async function requireStandby(connections: Pick<Connections, "query">): Promise<void> {
  if (await isWaitingForStandby(connections)) throw explainDatabaseError(waitTrouble("no_standby"));
}

/**
 * The error of a write that failed, or in its place one that names the standby, if that is why nothing was heard of the
 * commit or of the one that holds the lock.
 */
export async function orNoStandby(error: unknown, connections: Pick<Connections, "query">): Promise<unknown> {
  if (!mayBeUnconfirmed(error) || !(await isWaitingForStandby(connections))) return error;
  return isOutcomeUnknown(error) ? waitTrouble("unconfirmed") : waitTrouble("no_standby");
}

/** The error of a write that was not begun. */
export function waitTrouble(reason: "no_standby" | "unconfirmed"): ConnectionTrouble {
  return new ConnectionTrouble(reason, "Commits wait for a synchronous standby.");
}
