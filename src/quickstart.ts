import { createBot } from "./accounts/bots.ts";
import { type ChannelRow, selectChannels } from "./channels/store.ts";
import type { Transaction } from "./database/database.ts";
import { DomainError } from "./errors.ts";
import {
  createIncomingWebhook,
  type IncomingWebhook,
  listIncomingWebhooks,
} from "./incoming-webhooks/incoming-webhooks.ts";
import { joinChannel } from "./members/members.ts";
import { isMember } from "./channels/member-store.ts";
import type { Vault } from "./secrets/vault.ts";
import { scopes } from "./tokens/scopes.ts";
import { createToken, listTokens, type Token } from "./tokens/tokens.ts";
import { selectUsers, type UserRow } from "./users/store.ts";

const botName = "Quickstart";
const credentialName = "quickstart";

/** After this many tokens of earlier runs no further one is made: each has every scope, and somebody may hold it. */
const tokensMax = 3;

/** What there is to try the platform with. */
export type Quickstart = {
  channel: ChannelRow;
  bot: UserRow;
  /** In plain text only here; null when enough of earlier runs are there. */
  token: string | null;
  /** In plain text only here; null when there is a webhook of an earlier run. */
  webhookToken: string | null;
  /** What earlier runs made, which still works and cannot be read back. */
  kept: { tokens: Token[]; webhook: IncomingWebhook | null };
};

/**
 * Creates everything for a first try of the platform: a bot in the team's `#general`, a token of the bot with every
 * scope, and an incoming webhook in the channel. A later run keeps all of that, since scripts may use it by then, and
 * adds a token beside it.
 * @throws DomainError `forbidden` when `#general` is archived; `not_found` when the team has no general channel.
 */
export async function makeQuickstart(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  actor: string,
): Promise<Quickstart> {
  const channel = (await selectChannels(tx, teamId)).find(({ isGeneral }) => isGeneral);
  if (!channel) throw new DomainError("not_found", "The team has no general channel.");
  const bot = await findOrCreateBot(tx, channel, actor);
  const kept = {
    tokens: (await listTokens(tx, teamId)).filter(
      ({ name, user }) => user.id === bot.id && name === credentialName,
    ),
    // A bot has at most one per channel.
    webhook:
      (await listIncomingWebhooks(tx, teamId)).find(
        (webhook) => webhook.bot.id === bot.id && webhook.channel.id === channel.id,
      ) ?? null,
  };
  const madeToken =
    kept.tokens.length < tokensMax
      ? await createToken(tx, bot, { name: credentialName, scopes, expiresAt: null }, actor)
      : null;
  const input = { name: credentialName, signed: false };
  const madeWebhook = kept.webhook
    ? null
    : await createIncomingWebhook(tx, vault, { bot, channel }, input, actor);
  return { channel, bot, token: madeToken?.token ?? null, webhookToken: madeWebhook?.token ?? null, kept };
}

async function findOrCreateBot(tx: Transaction, channel: ChannelRow, actor: string): Promise<UserRow> {
  const bots = await selectUsers(tx, channel.teamId, { type: "bot" });
  const existing = bots.find(({ name }) => name === botName);
  if (!existing) return await createBot(tx, channel.teamId, { name: botName, channels: [channel] }, actor);
  if (!isMember(tx, channel.id, existing.id)) await joinChannel(tx, channel, existing, actor);
  return existing;
}
