import type { Connection, Transaction } from "../database/database.ts";
import { timestamp } from "../timestamp.ts";
import { insertAuditEntry, selectAuditEntries } from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

export type AuditEntry = {
  id: string;
  at: string;
  /** `cli:<login name>`, `human:<id>`, `bot:<id>`, `scim`, or `parley` for the service itself. */
  actor: string;
  /** The action, as `noun.verb`: `token.revoked`. */
  action: string;
  /** The object of the action, as `noun:id`. */
  target: string;
  details: Record<string, unknown>;
};

/**
 * Adds an entry to the team's audit log, in the transaction of the change itself. `details` must not contain secrets.
 */
export async function record(
  tx: Transaction,
  entry: { teamId: string; actor: string; action: string; target: string; details?: Record<string, unknown> },
): Promise<void> {
  insertAuditEntry(tx, {
    id: newId(),
    at: now(),
    teamId: entry.teamId,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    details: JSON.stringify(entry.details ?? {}),
  });
}

/** The team's audit log, newest first, at most `limit` entries. `since` is in milliseconds since 1970. */
export async function listAuditEntries(
  db: Connection,
  teamId: string,
  filter: { action?: string | undefined; since?: number | undefined; limit: number },
): Promise<AuditEntry[]> {
  const rows = await selectAuditEntries(db, teamId, filter);
  return rows.map(({ id, at, actor, action, target, details }) => ({
    id,
    at: timestamp(at),
    actor,
    action,
    target,
    details: JSON.parse(details) as Record<string, unknown>,
  }));
}
