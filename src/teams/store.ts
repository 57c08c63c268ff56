import { asc, eq, or } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { teams } from "../database/schema.ts";

export type TeamRow = typeof teams.$inferSelect;

/** Adds the team unless its slug is taken. Returns whether it did. */
export async function insertTeam(tx: Transaction, row: TeamRow): Promise<boolean> {
  const added = await tx.insert(teams).values(row).onConflictDoNothing().returning({ id: teams.id });
  return added.length > 0;
}

/** Returns every team, by slug. */
export async function selectTeams(db: Connection): Promise<TeamRow[]> {
  return await db.select().from(teams).orderBy(asc(teams.slug));
}

/** Returns every team with this id, slug or exact name. */
export async function selectTeamsNamed(db: Connection, reference: string): Promise<TeamRow[]> {
  return await db
    .select()
    .from(teams)
    .where(or(eq(teams.id, reference.toLowerCase()), eq(teams.slug, reference), eq(teams.name, reference)))
    .orderBy(asc(teams.id));
}

export async function updateTeamName(tx: Transaction, id: string, name: string, slug: string): Promise<void> {
  await tx.update(teams).set({ name, slug }).where(eq(teams.id, id));
}
