import { inArray, lt } from "drizzle-orm";
import { beside } from "../database/beside.ts";
import type { Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import { idempotencyKeys } from "../database/schema.ts";

export type IdempotencyKeyRow = typeof idempotencyKeys.$inferSelect;

const keyStatement = query<IdempotencyKeyRow, [string]>(
  `SELECT id, post, channel_id AS "channelId", message_id AS "messageId", created_at AS "createdAt"
   FROM idempotency_keys WHERE id = ?`,
);

/** Returns the key, used in this commit or before; undefined when it was not. */
export function selectIdempotencyKey(tx: Transaction, id: string): IdempotencyKeyRow | undefined {
  return beside(tx, () => keyStatement(tx).get(id)) ?? undefined;
}

const upsertStatement = change<[string, string, string, string, number]>(
  `INSERT INTO idempotency_keys (id, post, channel_id, message_id, created_at) VALUES (?, ?, ?, ?, ?)
   ON CONFLICT (id) DO UPDATE SET
     post = excluded.post, channel_id = excluded.channel_id, message_id = excluded.message_id,
     created_at = excluded.created_at`,
);

/** Notes that the key is used, in place of an earlier use. */
export function upsertIdempotencyKey(tx: Transaction, row: IdempotencyKeyRow): void {
  beside(tx, () => upsertStatement(tx, row.id, row.post, row.channelId, row.messageId, row.createdAt));
}

/** Deletes at most `limit` keys used before the time, in milliseconds since 1970. Returns how many. */
export async function deleteIdempotencyKeysBefore(
  tx: Transaction,
  before: number,
  limit: number,
): Promise<number> {
  const doomed = await tx
    .select({ id: idempotencyKeys.id })
    .from(idempotencyKeys)
    .where(lt(idempotencyKeys.createdAt, before))
    .orderBy(idempotencyKeys.createdAt)
    .limit(limit);
  const ids = doomed.map(({ id }) => id);
  if (ids.length > 0) await tx.delete(idempotencyKeys).where(inArray(idempotencyKeys.id, ids));
  return ids.length;
}
