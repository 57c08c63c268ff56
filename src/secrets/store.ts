import type { Connection, Transaction } from "../database/database.ts";
import { keyRotation, secretKey } from "../database/schema.ts";

/** The check value of the workspace's key; undefined when it has none. */
export async function selectKeyCheck(db: Connection): Promise<Buffer | undefined> {
  const [row] = await db.select().from(secretKey);
  return row?.checkValue;
}

/** Sets or replaces the check value of the workspace's key. */
export async function upsertKeyCheck(tx: Transaction, checkValue: Buffer): Promise<void> {
  await tx.delete(secretKey);
  await tx.insert(secretKey).values({ id: 1, checkValue });
}

type KeyRotation = Omit<typeof keyRotation.$inferSelect, "id">;

/** The rotation of the key that has begun and is not finished. */
export async function selectKeyRotation(db: Connection): Promise<KeyRotation | undefined> {
  const [row] = await db.select().from(keyRotation);
  return row;
}

/** Notes that a rotation has begun, in place of one that cannot be finished. */
export async function upsertKeyRotation(tx: Transaction, row: KeyRotation): Promise<void> {
  await tx.delete(keyRotation);
  await tx.insert(keyRotation).values({ id: 1, ...row });
}

/** Notes that the rotation is finished. */
export async function deleteKeyRotation(tx: Transaction): Promise<void> {
  await tx.delete(keyRotation);
}
