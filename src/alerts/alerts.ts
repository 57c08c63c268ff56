import { createBot, deleteBot } from "../accounts/bots.ts";
import { record } from "../audit/audit.ts";
import { isMember } from "../channels/member-store.ts";
import { type ChannelRow, selectChannel } from "../channels/store.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { appendMessage } from "../messages/append.ts";
import { selectUser, type UserRow } from "../users/store.ts";
import type { Alert } from "./alert.ts";
import {
  type AlertChannelRow,
  deleteAlertChannel,
  replaceAlertChannel,
  replaceSaid,
  selectAlertChannel,
  selectSaid,
} from "./store.ts";
import { webhookAlerts } from "./webhook-alerts.ts";
import { workspaceAlerts } from "./workspace-alerts.ts";
import { now } from "../system/repeatable.ts";

/** Where a team is told what needs attention, and whether it can be: null, or what keeps Parley from posting there. */
export type AlertPlace = { channel: ChannelRow; bot: UserRow; problem: string | null };

/** Where the team is told; undefined when it is told nothing. */
export async function alertPlaceOf(db: Connection, teamId: string): Promise<AlertPlace | undefined> {
  const row = await selectAlertChannel(db, teamId);
  const channel = row && selectChannel(db, teamId, row.channelId);
  const bot = row && (await selectUser(db, teamId, row.botId));
  return channel && bot ? { channel, bot, problem: problemOf(db, channel, bot) } : undefined;
}

function problemOf(db: Connection, channel: ChannelRow, bot: UserRow): string | null {
  if (bot.deactivatedAt !== null) return "the bot Parley was deleted";
  if (channel.isArchived) return `the channel ${channel.name} is archived`;
  if (!isMember(db, channel.id, bot.id)) return `the bot Parley is no longer in the channel ${channel.name}`;
  return null;
}

/**
 * Has the team told in this channel from now on, by a bot that joins it. A channel that it is told in already stays as it
 * is. What was said in another one counts as said.
 * @throws DomainError `forbidden` when the channel is archived or direct.
 */
export async function setAlertChannel(tx: Transaction, channel: ChannelRow, actor: string): Promise<void> {
  const { teamId } = channel;
  const before = await alertPlaceOf(tx, teamId);
  if (before?.channel.id === channel.id && before.problem === null) return;
  if (before) await deleteBot(tx, before.bot, actor);
  const bot = await createBot(tx, teamId, { name: "Parley", channels: [channel] }, actor);
  const setAt = (await selectAlertChannel(tx, teamId))?.setAt ?? now();
  await replaceAlertChannel(tx, { teamId, channelId: channel.id, botId: bot.id, setAt });
  const target = `channel:${channel.id}`;
  await record(tx, { teamId, actor, action: "team.alerts_set", target, details: { channel: channel.name } });
}

/** Tells the team nothing from now on, and deletes the bot; its messages stay. Returns false when none was told. */
export async function endAlerts(tx: Transaction, teamId: string, actor: string): Promise<boolean> {
  const before = await alertPlaceOf(tx, teamId);
  if (!before) return false;
  await deleteAlertChannel(tx, teamId);
  await deleteBot(tx, before.bot, actor);
  const { id, name } = before.channel;
  const target = `channel:${id}`;
  await record(tx, { teamId, actor, action: "team.alerts_ended", target, details: { channel: name } });
  return true;
}

/** What has changed for the team since it was last told. `freeBytes` as in `workspaceAlerts`. */
export async function findAlerts(
  db: Connection,
  row: AlertChannelRow,
  freeBytes: number | undefined,
): Promise<Alert[]> {
  const said = await selectSaid(db, row.teamId);
  const at = now();
  return [...(await webhookAlerts(db, row, said, at)), ...workspaceAlerts(db, said, at, freeBytes)];
}

/**
 * Posts what has changed for the team, and notes it in the same transaction, so that it is said once, whatever stops or
 * starts meanwhile. Returns why it could not be posted; null if it was, or if nothing has changed. `freeBytes` as in
 * `workspaceAlerts`.
 */
export async function sayAlerts(
  tx: Transaction,
  teamId: string,
  freeBytes: number | undefined,
): Promise<string | null> {
  const place = await alertPlaceOf(tx, teamId);
  const row = await selectAlertChannel(tx, teamId);
  if (!place || !row) return null;
  if (place.problem !== null) return place.problem;
  for (const { about, state, body } of await findAlerts(tx, row, freeBytes)) {
    await replaceSaid(tx, { teamId, about, state, at: now() });
    if (body !== null) appendMessage(tx, place.channel, place.bot, { type: "standard", body });
  }
  return null;
}
