import { and, eq } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { alertChannels, alertsSaid } from "../database/schema.ts";

export type AlertChannelRow = typeof alertChannels.$inferSelect;
export type SaidRow = typeof alertsSaid.$inferSelect;

/** Where each team is told; no row for a team that is told nothing. */
export async function selectAlertChannels(db: Connection): Promise<AlertChannelRow[]> {
  return await db.select().from(alertChannels);
}

/** Where the team is told; undefined when it is told nothing. */
export async function selectAlertChannel(
  db: Connection,
  teamId: string,
): Promise<AlertChannelRow | undefined> {
  const [row] = await db.select().from(alertChannels).where(eq(alertChannels.teamId, teamId));
  return row;
}

export async function replaceAlertChannel(tx: Transaction, row: AlertChannelRow): Promise<void> {
  await tx.delete(alertChannels).where(eq(alertChannels.teamId, row.teamId));
  await tx.insert(alertChannels).values(row);
}

/** Ends the team's alerts and forgets what was said. */
export async function deleteAlertChannel(tx: Transaction, teamId: string): Promise<void> {
  await tx.delete(alertChannels).where(eq(alertChannels.teamId, teamId));
  await tx.delete(alertsSaid).where(eq(alertsSaid.teamId, teamId));
}

/** What was said last to the team about each thing. */
export async function selectSaid(db: Connection, teamId: string): Promise<Map<string, SaidRow>> {
  const rows = await db.select().from(alertsSaid).where(eq(alertsSaid.teamId, teamId));
  return new Map(rows.map((row) => [row.about, row]));
}

/** Replaces what was said last about this thing. */
export async function replaceSaid(tx: Transaction, row: SaidRow): Promise<void> {
  const { teamId, about } = row;
  await tx.delete(alertsSaid).where(and(eq(alertsSaid.teamId, teamId), eq(alertsSaid.about, about)));
  await tx.insert(alertsSaid).values(row);
}
