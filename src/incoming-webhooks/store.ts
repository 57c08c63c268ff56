import { and, desc, eq, isNotNull, isNull } from "drizzle-orm";
import { channelColumns } from "../channels/store.ts";
import type { Reading, Writing } from "../database/open.ts";
import { parameterOfJoin, prepared } from "../database/prepared.ts";
import { channels, incomingWebhooks, users } from "../database/schema.ts";

export type IncomingWebhookRow = typeof incomingWebhooks.$inferSelect;

/** Adds the webhook unless its bot has a live one for the channel; whether it did. */
export async function insertIncomingWebhook(tx: Writing, row: IncomingWebhookRow): Promise<boolean> {
  const added = await tx
    .insert(incomingWebhooks)
    .values(row)
    .onConflictDoNothing()
    .returning({ id: incomingWebhooks.id });
  return added.length > 0;
}

const byTokenHash = prepared((db) =>
  db
    .select({ webhook: incomingWebhooks, bot: users, channel: channelColumns })
    .from(incomingWebhooks)
    .innerJoin(users, eq(users.id, incomingWebhooks.botId))
    .innerJoin(channels, eq(channels.id, incomingWebhooks.channelId))
    .where(
      and(
        eq(incomingWebhooks.tokenHash, parameterOfJoin("hash", "text")),
        isNull(incomingWebhooks.revokedAt),
        isNull(users.deactivatedAt),
      ),
    )
    .prepare(),
);

/** The live webhook of the token, with its bot and channel. */
export function selectLiveWebhook(db: Reading, hash: string) {
  return byTokenHash(db).get({ hash });
}

/** The team's live webhooks with their bots and channels, newest first; with `id` that one only. */
export async function selectIncomingWebhooks(db: Reading, teamId: string, id?: string) {
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

/** The sealed secret of every live webhook that has one. */
export async function selectWebhookSecrets(db: Reading): Promise<Array<{ id: string; secret: Uint8Array }>> {
  const rows = await db
    .select({ id: incomingWebhooks.id, secret: incomingWebhooks.secret })
    .from(incomingWebhooks)
    .where(and(isNull(incomingWebhooks.revokedAt), isNotNull(incomingWebhooks.secret)));
  return rows.flatMap(({ id, secret }) => (secret === null ? [] : [{ id, secret }]));
}

export async function updateIncomingWebhook(
  tx: Writing,
  id: string,
  change: Pick<Partial<IncomingWebhookRow>, "revokedAt" | "secret">,
): Promise<void> {
  await tx.update(incomingWebhooks).set(change).where(eq(incomingWebhooks.id, id));
}

/** Revokes every webhook of the bot, or the one for one channel only; the rows as they now are. */
export async function revokeWebhookRowsOfBot(
  tx: Writing,
  botId: string,
  at: number,
  channelId?: string,
): Promise<IncomingWebhookRow[]> {
  return await tx
    .update(incomingWebhooks)
    .set({ revokedAt: at })
    .where(
      and(
        eq(incomingWebhooks.botId, botId),
        isNull(incomingWebhooks.revokedAt),
        channelId === undefined ? undefined : eq(incomingWebhooks.channelId, channelId),
      ),
    )
    .returning();
}
