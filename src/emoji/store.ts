import { and, asc, eq } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { customEmoji } from "../database/schema.ts";

type CustomEmojiRow = typeof customEmoji.$inferSelect;

/** Adds the emoji unless its name is taken in the team. Returns whether it did. */
export async function insertEmoji(tx: Transaction, row: CustomEmojiRow): Promise<boolean> {
  const added = await tx
    .insert(customEmoji)
    .values(row)
    .onConflictDoNothing()
    .returning({ name: customEmoji.name });
  return added.length > 0;
}

/** Removes the emoji. Returns the row as it was; undefined if there was none. */
export async function deleteEmoji(
  tx: Transaction,
  teamId: string,
  name: string,
): Promise<CustomEmojiRow | undefined> {
  const [row] = await tx
    .delete(customEmoji)
    .where(and(eq(customEmoji.teamId, teamId), eq(customEmoji.name, name)))
    .returning();
  return row;
}

export async function hasEmoji(db: Connection, teamId: string, name: string): Promise<boolean> {
  const rows = await db
    .select({ name: customEmoji.name })
    .from(customEmoji)
    .where(and(eq(customEmoji.teamId, teamId), eq(customEmoji.name, name)));
  return rows.length > 0;
}

/** Returns the custom emoji of the team, by name, without their images. */
export async function selectEmoji(
  db: Connection,
  teamId: string,
): Promise<Array<{ name: string; createdAt: number }>> {
  return await db
    .select({ name: customEmoji.name, createdAt: customEmoji.createdAt })
    .from(customEmoji)
    .where(eq(customEmoji.teamId, teamId))
    .orderBy(asc(customEmoji.name));
}
