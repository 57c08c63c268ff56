import { eq } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { backupResults, backupSchedule } from "../database/schema.ts";

export type ScheduleRow = Omit<typeof backupSchedule.$inferSelect, "id">;
export type ResultRow = typeof backupResults.$inferSelect;

/** The schedule; undefined when no backups are made by themselves. */
export function selectSchedule(db: Connection): ScheduleRow | undefined {
  return db.select().from(backupSchedule).get();
}

export async function upsertSchedule(tx: Transaction, row: ScheduleRow): Promise<void> {
  await tx.delete(backupSchedule);
  await tx.insert(backupSchedule).values({ id: 1, ...row });
}

/** Ends the schedule and forgets how its backups went. */
export async function deleteSchedule(tx: Transaction): Promise<void> {
  await tx.delete(backupSchedule);
}

/** The results by kind. */
export function selectResults(db: Connection): Partial<Record<ResultRow["kind"], ResultRow>> {
  const rows = db.select().from(backupResults).all();
  return Object.fromEntries(rows.map((row) => [row.kind, row]));
}

/** Replaces the result of this kind. */
export async function upsertResult(tx: Transaction, row: ResultRow): Promise<void> {
  await tx.delete(backupResults).where(eq(backupResults.kind, row.kind));
  await tx.insert(backupResults).values(row);
}
