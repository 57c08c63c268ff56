import { record } from "../audit/audit.ts";
import type { ChannelRow } from "../channels/store.ts";
import { requireUnarchived } from "../channels/access.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { DomainError, forbidden, notFound } from "../errors.ts";
import { isMember } from "../channels/member-store.ts";
import { checkName } from "../input/name.ts";
import type { Vault } from "../secrets/vault.ts";
import { timestamp } from "../timestamp.ts";
import { hashOf, newSecret } from "../secrets/secret-text.ts";
import type { UserRow } from "../users/store.ts";
import { signedHashOf } from "./address-hash.ts";
import { deleteRefusedPostsOf } from "./refused-store.ts";
import {
  type IncomingWebhookRow,
  insertIncomingWebhook,
  isSigned,
  revokeWebhookRowsOfBot,
  selectIncomingWebhooks,
  updateIncomingWebhook,
} from "./store.ts";
import { newId, now } from "../system/repeatable.ts";

/** An incoming webhook as lists show it: never with its URL or secret. */
export type IncomingWebhook = {
  id: string;
  name: string;
  bot: { id: string; name: string };
  channel: { id: string; name: string; slug: string };
  /** Whether it requires signed requests. */
  signed: boolean;
  created_at: string;
  /** Until when the address before the latest rotation works as well; left out once it does not. */
  old_address_until?: string;
  /** The same for the secret. */
  old_secret_until?: string;
};

/**
 * Creates a URL that posts into the channel as the bot. Returns it with its token and, if signed, its signing secret:
 * both exist in plain text only here.
 * @throws DomainError `forbidden` when the bot is deleted or not in the channel, or the channel is archived;
 *   `conflict` when the bot already has one for the channel; `invalid` on `name`; `key_missing` when the secret
 *   cannot be encrypted.
 */
export async function createIncomingWebhook(
  tx: Transaction,
  vault: Vault,
  { bot, channel }: { bot: UserRow; channel: ChannelRow },
  input: { name: string; signed: boolean },
  actor: string,
): Promise<IncomingWebhook & { token: string; secret: string | null }> {
  if (bot.type !== "bot" || bot.deactivatedAt !== null) throw forbidden(`${bot.name} is not an active bot.`);
  requireUnarchived(channel);
  if (!isMember(tx, channel.id, bot.id)) {
    throw forbidden(
      `The bot ${bot.name} is not in ${channel.name}: parley channels add-member ${channel.slug} ${bot.id}`,
    );
  }
  const name = checkName(input.name);
  const id = newId();
  const token = newSecret("ply_in_");
  const secret = input.signed ? newSecret("whsec_") : null;
  const row: IncomingWebhookRow = {
    id,
    teamId: channel.teamId,
    botId: bot.id,
    channelId: channel.id,
    name,
    tokenHash: input.signed ? signedHashOf(hashOf(token)) : hashOf(token),
    secret: secret === null ? null : await vault.seal(tx, secret, `incoming_webhooks:${id}`),
    revokedAt: null,
    createdAt: now(),
    previousTokenHash: null,
    previousTokenUntil: null,
    previousSecret: null,
    previousSecretUntil: null,
  };
  if (!(await insertIncomingWebhook(tx, row))) {
    throw new DomainError(
      "conflict",
      `The bot ${bot.name} already has an incoming webhook for ${channel.name}.`,
    );
  }
  const details = { bot: bot.name, channel: channel.name, signed: input.signed };
  await recordWebhook(tx, row, "incoming_webhook.created", actor, details);
  return { ...webhookResource(row, bot, channel), token, secret };
}

/** Returns the team's incoming webhooks that are not revoked, newest first. */
export async function listIncomingWebhooks(db: Connection, teamId: string): Promise<IncomingWebhook[]> {
  const rows = await selectIncomingWebhooks(db, teamId);
  return rows.map(({ webhook, bot, channel }) => webhookResource(webhook, bot, channel));
}

/**
 * Revokes the webhook for good: its URL stops working from the next request on. Its messages stay and keep their
 * reference to it. Returns the webhook as it was.
 * @throws DomainError `not_found`.
 */
export async function revokeIncomingWebhook(
  tx: Transaction,
  teamId: string,
  id: string,
  actor: string,
): Promise<IncomingWebhook> {
  const { webhook, bot, channel } = await getIncomingWebhook(tx, teamId, id);
  await updateIncomingWebhook(tx, webhook.id, { revokedAt: now() });
  await deleteRefusedPostsOf(tx, webhook.id);
  await recordWebhook(tx, webhook, "incoming_webhook.revoked", actor);
  return webhookResource(webhook, bot, channel);
}

/** Revokes all webhooks of the bot for good. */
export async function revokeWebhooksOfBot(tx: Transaction, botId: string, actor: string): Promise<void> {
  for (const row of await revokeWebhookRowsOfBot(tx, botId, now())) {
    await deleteRefusedPostsOf(tx, row.id);
    await recordWebhook(tx, row, "incoming_webhook.revoked", actor);
  }
}

/**
 * Returns the live webhook with its bot and channel.
 * @throws DomainError `not_found`.
 */
export async function getIncomingWebhook(db: Connection, teamId: string, id: string) {
  const [found] = await selectIncomingWebhooks(db, teamId, id.toLowerCase());
  if (!found) throw notFound("incoming webhook");
  return found;
}

export function webhookResource(row: IncomingWebhookRow, bot: UserRow, channel: ChannelRow): IncomingWebhook {
  return {
    id: row.id,
    name: row.name,
    bot: { id: bot.id, name: bot.name },
    channel: { id: channel.id, name: channel.name, slug: channel.slug },
    signed: isSigned(row),
    created_at: timestamp(row.createdAt),
    ...(lasts(row.previousTokenUntil) && { old_address_until: timestamp(row.previousTokenUntil) }),
    ...(lasts(row.previousSecretUntil) && { old_secret_until: timestamp(row.previousSecretUntil) }),
  };
}

function lasts(until: number | null): until is number {
  return until !== null && until > now();
}

export async function recordWebhook(
  tx: Transaction,
  row: IncomingWebhookRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await record(tx, {
    teamId: row.teamId,
    actor,
    action,
    target: `incoming_webhook:${row.id}`,
    details: { name: row.name, ...details },
  });
}
