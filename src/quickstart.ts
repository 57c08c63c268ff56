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
 * What a first try of the platform takes: a bot in the team's `#general`, a token of it with every scope, and an
 * incoming webhook there. The bot of an earlier run is used again; the credentials of that run cannot be read back, so
 * they are revoked and new ones made. `token` and `webhookToken` exist in clear only here.
 * @throws DomainError `forbidden` when `#general` is archived; `not_found` when the team has none.
 */
export async function makeQuickstart(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  actor: string,
): Promise<{ channel: ChannelRow; bot: UserRow; token: string; webhookToken: string }> {
  const channel = (await selectChannels(tx, teamId)).find(({ isGeneral }) => isGeneral);
  if (!channel) throw new DomainError("not_found", "The team has no general channel.");
  const bot = await botIn(tx, channel, actor);

  await revokeTokensOfUser(tx, bot.id, actor, credentialName);
  const { token } = await createToken(tx, bot, { name: credentialName, scopes, expiresAt: null }, actor);

  // A bot has one incoming webhook for a channel.
  await revokeWebhooksOfBot(tx, bot.id, actor, channel.id);
  const input = { name: credentialName, signed: false };
  const { token: webhookToken } = await createIncomingWebhook(tx, vault, { bot, channel }, input, actor);
  return { channel, bot, token, webhookToken };
}

async function botIn(tx: Transaction, channel: ChannelRow, actor: string): Promise<UserRow> {
  const bots = await selectUsers(tx, channel.teamId, { type: "bot" });
  const known = bots.find(({ name }) => name === botName);
  if (!known) return await createBot(tx, channel.teamId, { name: botName, channels: [channel] }, actor);
  if (!isMember(tx, channel.id, known.id)) await joinChannel(tx, channel, known, actor);
  return known;
}
