import { and, eq } from "drizzle-orm";
import type { Transaction } from "../database/database.ts";
import { reactions } from "../database/schema.ts";

type Reaction = { messageId: string; emoji: string; userId: string };

/** Adds the reaction, made at `at` in milliseconds since 1970, unless it exists. Returns whether it did. */
export async function insertReaction(tx: Transaction, reaction: Reaction, at: number): Promise<boolean> {
  const added = await tx
    .insert(reactions)
    .values({ ...reaction, createdAt: at })
    .onConflictDoNothing()
    .returning({ emoji: reactions.emoji });
  return added.length > 0;
}

/** Removes the reaction. Returns whether it existed. */
export async function deleteReaction(
  tx: Transaction,
  { messageId, emoji, userId }: Reaction,
): Promise<boolean> {
  const gone = await tx
    .delete(reactions)
    .where(and(eq(reactions.messageId, messageId), eq(reactions.emoji, emoji), eq(reactions.userId, userId)))
    .returning({ emoji: reactions.emoji });
  return gone.length > 0;
}
