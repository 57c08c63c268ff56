import { and, desc, eq, gt, inArray, lt, lte } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { refusedPosts } from "../database/schema.ts";
import { firstIdAt } from "../system/first-id.ts";

export type RefusedPostRow = typeof refusedPosts.$inferSelect;

/** Why a post is refused that a repair, here or at its sender, may let through. */
export type RefusalCode = RefusedPostRow["code"];
export const refusalCodes: readonly string[] = refusedPosts.code.enumValues;

export async function insertRefusedPost(tx: Transaction, row: RefusedPostRow): Promise<void> {
  await tx.insert(refusedPosts).values(row);
}

/** Deletes what the webhook has beyond its newest `max` refused posts, counted for proven and other ones apart. */
export async function deleteRefusedPostsBeyond(
  tx: Transaction,
  { webhookId, isProven }: Pick<RefusedPostRow, "webhookId" | "isProven">,
  max: number,
): Promise<void> {
  const ofKind = and(eq(refusedPosts.webhookId, webhookId), eq(refusedPosts.isProven, isProven));
  const newest = await tx
    .select({ id: refusedPosts.id })
    .from(refusedPosts)
    .where(ofKind)
    .orderBy(desc(refusedPosts.id))
    .limit(max + 1);
  const beyond = newest[max];
  if (beyond) await tx.delete(refusedPosts).where(and(ofKind, lte(refusedPosts.id, beyond.id)));
}

/** The webhook's refused posts, newest first. */
export async function selectRefusedPosts(db: Connection, webhookId: string): Promise<RefusedPostRow[]> {
  return await db
    .select()
    .from(refusedPosts)
    .where(and(eq(refusedPosts.webhookId, webhookId), inArray(refusedPosts.isProven, [false, true])))
    .orderBy(desc(refusedPosts.id));
}

/** Deletes the post. Returns what was known of its sender; undefined if there was no such post. */
export async function deleteRefusedPost(
  tx: Transaction,
  id: string,
): Promise<Pick<RefusedPostRow, "isSuperseded"> | undefined> {
  const [deleted] = await tx
    .delete(refusedPosts)
    .where(eq(refusedPosts.id, id))
    .returning({ isSuperseded: refusedPosts.isSuperseded });
  return deleted;
}

/** Notes that what the senders of the webhook's refused posts knew has been replaced. */
export async function markRefusedPostsSuperseded(tx: Transaction, webhookId: string): Promise<void> {
  await tx
    .update(refusedPosts)
    .set({ isSuperseded: true })
    .where(and(eq(refusedPosts.webhookId, webhookId), eq(refusedPosts.isProven, true)));
}

/** Deletes at most `limit` refused posts from before the time, in milliseconds since 1970. Returns how many. */
export async function deleteRefusedPostsBefore(
  tx: Transaction,
  before: number,
  limit: number,
): Promise<number> {
  const doomed = await tx
    .select({ id: refusedPosts.id })
    .from(refusedPosts)
    .where(lt(refusedPosts.id, firstIdAt(before)))
    .orderBy(refusedPosts.id)
    .limit(limit);
  const ids = doomed.map(({ id }) => id);
  if (ids.length > 0) await tx.delete(refusedPosts).where(inArray(refusedPosts.id, ids));
  return ids.length;
}

/** Deletes all refused posts of the webhook. */
export async function deleteRefusedPostsOf(tx: Transaction, webhookId: string): Promise<void> {
  await tx.delete(refusedPosts).where(eq(refusedPosts.webhookId, webhookId));
}

/** At most `limit` refused posts of all webhooks, in the order of their ids. */
export async function selectSealedPosts(
  db: Connection,
  afterId: string,
  limit: number,
): Promise<Array<Pick<RefusedPostRow, "id" | "post">>> {
  return await db
    .select({ id: refusedPosts.id, post: refusedPosts.post })
    .from(refusedPosts)
    .where(gt(refusedPosts.id, afterId))
    .orderBy(refusedPosts.id)
    .limit(limit);
}

/** Replaces the post, encrypted anew. */
export async function updateRefusedPost(tx: Transaction, id: string, post: Buffer): Promise<void> {
  await tx.update(refusedPosts).set({ post }).where(eq(refusedPosts.id, id));
}
