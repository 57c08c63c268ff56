import { and, desc, eq, gte } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { change } from "../database/prepared.ts";
import { auditEntries } from "../database/schema.ts";

export type AuditEntryRow = typeof auditEntries.$inferSelect;

const insertStatement = change<[string, string, number, string, string, string, string]>(
  "INSERT INTO audit_entries (id, team_id, at, actor, action, target, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
);

export function insertAuditEntry(tx: Transaction, entry: AuditEntryRow): void {
  const { id, teamId, at, actor, action, target, details } = entry;
  insertStatement(tx, id, teamId, at, actor, action, target, details);
}

/** The team's entries, newest first, at most `filter.limit`. `filter.since` is in milliseconds since 1970. */
export async function selectAuditEntries(
  db: Connection,
  teamId: string,
  filter: { action?: string | undefined; since?: number | undefined; limit: number },
): Promise<AuditEntryRow[]> {
  return await db
    .select()
    .from(auditEntries)
    .where(
      and(
        eq(auditEntries.teamId, teamId),
        filter.action === undefined ? undefined : eq(auditEntries.action, filter.action),
        filter.since === undefined ? undefined : gte(auditEntries.at, filter.since),
      ),
    )
    .orderBy(desc(auditEntries.at), desc(auditEntries.id))
    .limit(filter.limit);
}
