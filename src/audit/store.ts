import { and, desc, eq, gte } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { auditEntries } from "../database/schema.ts";

export type AuditEntryRow = typeof auditEntries.$inferSelect;

export async function insertAuditEntry(tx: Writing, entry: AuditEntryRow): Promise<void> {
  await tx.insert(auditEntries).values(entry);
}

export async function selectAuditEntries(
  db: Reading,
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
