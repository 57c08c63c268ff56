import type { ChannelRow } from "../../src/channels/store.ts";
import type { UserRow } from "../../src/users/store.ts";
import type { Workspace } from "./workspace.ts";

/** Everybody with a part in a test of permissions: one team with every kind of user and channel, and a second team. */
export type Cast = {
  teamId: string;
  otherTeamId: string;
  /** Of the first team: the owner made `general` and the rest of the channels unless something else is said. */
  owner: UserRow;
  /** In no channel, so that what the admin may do comes from the role alone. */
  admin: UserRow;
  /** In `open` and `secret`. */
  member: UserRow;
  /** In no channel. */
  stranger: UserRow;
  /** In `open`, `secret` and `archived`. */
  bot: UserRow;
  /** In no channel. */
  idleBot: UserRow;
  /** The owner and a bot of the second team. */
  outsider: UserRow;
  outsiderBot: UserRow;
  general: ChannelRow;
  /** Public, of the member. */
  open: ChannelRow;
  /** Private, of the member. */
  secret: ChannelRow;
  /** Public and archived, of the member. */
  archived: ChannelRow;
  /** Direct messages of the owner and the member. */
  direct: ChannelRow;
  /** Private, of the second team's owner. */
  elsewhere: ChannelRow;
};

/** Puts the cast into the workspace. */
export async function seedCast(workspace: Workspace): Promise<Cast> {
  const { id: teamId, owner, general } = await workspace.team("Acme");
  const other = await workspace.team("Umbrella");
  const admin = await workspace.person(teamId, "Ada Admin", "admin");
  const member = await workspace.person(teamId, "Max Member");
  const stranger = await workspace.person(teamId, "Sam Stranger");

  const open = await workspace.channel(member, "open");
  const secret = await workspace.channel(member, "secret", "private");
  const archived = await workspace.channel(member, "archived");
  const direct = await workspace.direct(owner, member);
  const elsewhere = await workspace.channel(other.owner, "elsewhere", "private");
  const bot = await workspace.bot(teamId, "Build Bot", [open, secret, archived]);
  const idleBot = await workspace.bot(teamId, "Idle Bot");
  const outsiderBot = await workspace.bot(other.id, "Other Bot");
  await workspace.archive(archived);

  return {
    teamId,
    otherTeamId: other.id,
    owner,
    admin,
    member,
    stranger,
    bot,
    idleBot,
    outsider: other.owner,
    outsiderBot,
    general,
    open,
    secret,
    archived,
    direct,
    elsewhere,
  };
}
