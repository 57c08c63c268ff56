import { createBot } from "./accounts/bots.ts";
import { type ChannelRow, selectChannels } from "./channels/store.ts";
import type { Transaction } from "./database/database.ts";
import { DomainError } from "./errors.ts";
import { createIncomingWebhook, revokeWebhooksOfBot } from "./incoming-webhooks/incoming-webhooks.ts";
import { joinChannel } from "./members/members.ts";
import { isMember } from "./channels/member-store.ts";
import type { Vault } from "./secrets/vault.ts";
import { scopes } from "./tokens/scopes.ts";
import { createToken, revokeTokensOfUser } from "./tokens/tokens.ts";
import { selectUsers, type UserRow } from "./users/store.ts";

const botName = "Quickstart";
const credentialName = "quickstart";

/**
 * Creates everything for a first try of the platform: a bot in the team's `#general`, a token of the bot with every
 * scope, and an incoming webhook in the channel. Reuses the bot of an earlier run; the credentials of that run cannot
 * be read back, so they are revoked and replaced. `token` and `webhookToken` exist in plain text only here.
 * @throws DomainError `forbidden` when `#general` is archived; `not_found` when the team has no general channel.
 */
export async function makeQuickstart(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  actor: string,
): Promise<{ channel: ChannelRow; bot: UserRow; token: string; webhookToken: string }> {
  const channel = (await selectChannels(tx, teamId)).find(({ isGeneral }) => isGeneral);
  if (!channel) throw new DomainError("not_found", "The team has no general channel.");
  const bot = await findOrCreateBot(tx, channel, actor);

  await revokeTokensOfUser(tx, bot.id, actor, credentialName);
  const { token } = await createToken(tx, bot, { name: credentialName, scopes, expiresAt: null }, actor);

  // A bot has at most one incoming webhook per channel.
  await revokeWebhooksOfBot(tx, bot.id, actor, channel.id);
  const input = { name: credentialName, signed: false };
  const { token: webhookToken } = await createIncomingWebhook(tx, vault, { bot, channel }, input, actor);
  return { channel, bot, token, webhookToken };
}

async function findOrCreateBot(tx: Transaction, channel: ChannelRow, actor: string): Promise<UserRow> {
  const bots = await selectUsers(tx, channel.teamId, { type: "bot" });
  const existing = bots.find(({ name }) => name === botName);
  if (!existing) return await createBot(tx, channel.teamId, { name: botName, channels: [channel] }, actor);
  if (!isMember(tx, channel.id, existing.id)) await joinChannel(tx, channel, existing, actor);
  return existing;
}
