import type { Connection, Transaction } from "../database/database.ts";
import { secretKey } from "../database/schema.ts";

/** The check value of the workspace's key; undefined when it has none. */
export async function selectKeyCheck(db: Connection): Promise<Buffer | undefined> {
  const [row] = await db.select().from(secretKey);
  return row?.checkValue;
}

/** Sets or replaces the check value of the workspace's key. */
export async function upsertKeyCheck(tx: Transaction, checkValue: Buffer): Promise<void> {
  await tx
    .insert(secretKey)
    .values({ id: 1, checkValue })
    .onConflictDoUpdate({ target: secretKey.id, set: { checkValue } });
}
