import { and, desc, eq, gt, inArray, isNotNull, isNull, like, lte, or } from "drizzle-orm";
import { channelColumns } from "../channels/store.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { parameterOfJoin, prepared } from "../database/prepared.ts";
import { channels, incomingWebhooks, users } from "../database/schema.ts";
import { isSignedHash, signedHashOf, signedPrefix } from "./address-hash.ts";

export type IncomingWebhookRow = typeof incomingWebhooks.$inferSelect;

/**
 * Whether the webhook requires signed requests. Its hash or its secret alone is enough, in case the other was
 * changed.
 */
export function isSigned({ tokenHash, secret }: IncomingWebhookRow): boolean {
  return isSignedHash(tokenHash) || secret !== null;
}

/**
 * Until when the address with the hash leads to the webhook, in milliseconds since 1970: for ever, or for the one before,
 * until its overlap ends.
 */
export function addressWorksUntil(row: IncomingWebhookRow, hash: string): number {
  const isCurrent = row.tokenHash === hash || row.tokenHash === signedHashOf(hash);
  return isCurrent ? Number.POSITIVE_INFINITY : (row.previousTokenUntil ?? 0);
}

/** Adds the webhook unless its bot has a live one for the channel. Returns whether it did. */
export async function insertIncomingWebhook(tx: Transaction, row: IncomingWebhookRow): Promise<boolean> {
  const added = await tx
    .insert(incomingWebhooks)
    .values(row)
    .onConflictDoNothing()
    .returning({ id: incomingWebhooks.id });
  return added.length > 0;
}

const byTokenHashStatement = prepared((db) =>
  db
    .select({ webhook: incomingWebhooks, bot: users, channel: channelColumns })
    .from(incomingWebhooks)
    .innerJoin(users, eq(users.id, incomingWebhooks.botId))
    .innerJoin(channels, eq(channels.id, incomingWebhooks.channelId))
    .where(
      and(
        or(
          eq(incomingWebhooks.tokenHash, parameterOfJoin("hash", "text")),
          eq(incomingWebhooks.tokenHash, parameterOfJoin("signedHash", "text")),
          eq(incomingWebhooks.previousTokenHash, parameterOfJoin("hash", "text")),
          eq(incomingWebhooks.previousTokenHash, parameterOfJoin("signedHash", "text")),
        ),
        isNull(incomingWebhooks.revokedAt),
        isNull(users.deactivatedAt),
      ),
    )
    .prepare(),
);

/**
 * Returns the live webhook whose token has this hash, signed or not, with its bot and channel; also when the token is the
 * one before, whether or not that still works.
 */
export function selectLiveWebhook(db: Connection, hash: string) {
  return byTokenHashStatement(db).get({ hash, signedHash: signedHashOf(hash) });
}

/** The webhook whose token has or had this hash, signed or not, with its bot and channel, whatever has become of them. */
export async function selectWebhookByHash(db: Connection, hash: string) {
  const [found] = await db
    .select({ webhook: incomingWebhooks, bot: users, channel: channelColumns })
    .from(incomingWebhooks)
    .innerJoin(users, eq(users.id, incomingWebhooks.botId))
    .innerJoin(channels, eq(channels.id, incomingWebhooks.channelId))
    .where(
      or(
        inArray(incomingWebhooks.tokenHash, [hash, signedHashOf(hash)]),
        inArray(incomingWebhooks.previousTokenHash, [hash, signedHashOf(hash)]),
      ),
    );
  return found;
}

/** Returns the team's live webhooks with their bots and channels, newest first; with `id` only that one. */
export async function selectIncomingWebhooks(db: Connection, teamId: string, id?: string) {
  return await db
    .select({ webhook: incomingWebhooks, bot: users, channel: channelColumns })
    .from(incomingWebhooks)
    .innerJoin(users, eq(users.id, incomingWebhooks.botId))
    .innerJoin(channels, eq(channels.id, incomingWebhooks.channelId))
    .where(
      and(
        eq(incomingWebhooks.teamId, teamId),
        isNull(incomingWebhooks.revokedAt),
        id === undefined ? undefined : eq(incomingWebhooks.id, id),
      ),
    )
    .orderBy(desc(incomingWebhooks.createdAt), desc(incomingWebhooks.id));
}

/** Returns the sealed secret of every live webhook that requires signatures; null where it was removed. */
export async function selectWebhookSecrets(
  db: Connection,
): Promise<Array<{ id: string; secret: Uint8Array | null }>> {
  const isSigned = like(incomingWebhooks.tokenHash, `${signedPrefix}%`);
  return await db
    .select({ id: incomingWebhooks.id, secret: incomingWebhooks.secret })
    .from(incomingWebhooks)
    .where(and(isNull(incomingWebhooks.revokedAt), or(isSigned, isNotNull(incomingWebhooks.secret))));
}

/** At most `limit` webhooks with sealed secrets, revoked ones included, in the order of their ids. */
export async function selectSealedWebhooks(
  db: Connection,
  afterId: string,
  limit: number,
): Promise<IncomingWebhookRow[]> {
  return await db
    .select()
    .from(incomingWebhooks)
    .where(and(gt(incomingWebhooks.id, afterId), isNotNull(incomingWebhooks.secret)))
    .orderBy(incomingWebhooks.id)
    .limit(limit);
}

export async function updateIncomingWebhook(
  tx: Transaction,
  id: string,
  change: Partial<Omit<IncomingWebhookRow, "id" | "teamId" | "botId" | "channelId" | "createdAt">>,
): Promise<void> {
  await tx.update(incomingWebhooks).set(change).where(eq(incomingWebhooks.id, id));
}

/**
 * Forgets the secrets that no webhook accepts any more: those whose overlap ended by this time, in milliseconds since
 * 1970. Returns how many.
 */
export async function forgetEndedSecrets(tx: Transaction, at: number): Promise<number> {
  const ended = await tx
    .select({ id: incomingWebhooks.id })
    .from(incomingWebhooks)
    .where(lte(incomingWebhooks.previousSecretUntil, at));
  const ids = ended.map(({ id }) => id);
  // On PostgreSQL an update that finds nothing would make every node read again what it holds in memory.
  if (ids.length > 0) {
    await tx
      .update(incomingWebhooks)
      .set({ previousSecret: null, previousSecretUntil: null })
      .where(inArray(incomingWebhooks.id, ids));
  }
  return ids.length;
}

/** Revokes the live webhooks of the bot, or only the one for the channel. Returns the rows after the change. */
export async function revokeWebhookRowsOfBot(
  tx: Transaction,
  botId: string,
  at: number,
): Promise<IncomingWebhookRow[]> {
  return await tx
    .update(incomingWebhooks)
    .set({ revokedAt: at })
    .where(and(eq(incomingWebhooks.botId, botId), isNull(incomingWebhooks.revokedAt)))
    .returning();
}
