import { record } from "../audit/audit.ts";
import type { ChannelRow } from "../channels/store.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { joinChannel } from "../members/members.ts";
import { checkName } from "../input/name.ts";
import type { User } from "../users/schemas.ts";
import { selectUsers, type UserRow } from "../users/store.ts";
import { revokeAccess, type RevokedAccess } from "./revoke-access.ts";
import { addUser, userResource } from "../users/users.ts";

/**
 * Adds a bot to the team, makes it a member of the channels and returns its row.
 * @throws DomainError `invalid` on `name`; `forbidden` when a channel is archived or direct.
 */
export async function createBot(
  tx: Transaction,
  teamId: string,
  input: { name: string; channels: readonly ChannelRow[] },
  actor: string,
): Promise<UserRow> {
  const name = checkName(input.name);
  const bot = await addUser(tx, { teamId, type: "bot", name, role: null, email: null });
  await record(tx, { teamId, actor, action: "bot.created", target: `bot:${bot.id}`, details: { name } });
  for (const channel of input.channels) await joinChannel(tx, channel, bot, actor);
  return bot;
}

/** Returns the team's bots, without deleted ones, by name. */
export async function listBots(db: Connection, teamId: string): Promise<User[]> {
  return (await selectUsers(db, teamId, { type: "bot" })).map(userResource);
}

/**
 * Deletes a bot and returns it with the subscriptions that this affects. Its tokens and incoming webhooks stop working
 * from the next request on; its subscriptions are disabled or, with `keepWebhooks`, stay enabled; its messages stay and
 * keep their author. Idempotent.
 */
export async function deleteBot(
  tx: Transaction,
  bot: UserRow,
  actor: string,
  options: { keepWebhooks?: boolean | undefined } = {},
): Promise<User & RevokedAccess> {
  if (bot.deactivatedAt !== null) return userResource(bot);
  const revoked = await revokeAccess(tx, bot, actor, options);
  await record(tx, {
    teamId: bot.teamId,
    actor,
    action: "bot.deleted",
    target: `bot:${bot.id}`,
    details: { name: bot.name },
  });
  return { ...userResource(bot), ...revoked };
}
