import type { MemberEvent } from "./schemas.ts";
import { record } from "../audit/audit.ts";
import type { ChannelRow } from "../channels/store.ts";
import { getManagedChannel, requireUnarchived, type SeenChannel } from "../channels/access.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { forbidden, invalid, notFound } from "../errors.ts";
import { emit } from "../outbox/emit.ts";
import { addNotice } from "../messages/notices.ts";
import { actorOf, isTeamAdmin, type Subject } from "../subject.ts";
import { byName } from "../input/text.ts";
import type { User } from "../users/schemas.ts";
import { selectUser, type UserRow } from "../users/store.ts";
import { userResource } from "../users/users.ts";
import { checkOf } from "../input/validation.ts";
import { MemberInput } from "./schemas.ts";
import { deleteMember, insertMember, isMember, selectMembers } from "../channels/member-store.ts";
import { now } from "../system/repeatable.ts";

const checkMemberInput = checkOf(MemberInput);

/**
 * Returns the channel's active members, ordered by name.
 * @throws DomainError `not_found` when the subject neither sees nor manages the channel.
 */
export async function listMembers(db: Connection, subject: Subject, channelId: string): Promise<User[]> {
  const { channel } = getManagedChannel(db, subject, channelId);
  return await listMembersOf(db, channel);
}

/** Returns the active members of the channel, ordered by name. The caller has checked that they may be seen. */
export async function listMembersOf(db: Connection, channel: ChannelRow): Promise<User[]> {
  return (await selectMembers(db, channel.id)).sort(byName).map(userResource);
}

/**
 * Adds a user of the team to a private channel as the subject, who must be a member of it or a team admin, and
 * returns the user (specification part 4, members).
 * @throws DomainError `not_found`; `forbidden` when the channel is not private, is archived, or the subject is
 *   neither; `invalid` on `user_id` for a user who is not of the team, deactivated, or a member already.
 */
export async function addMember(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  input: unknown,
): Promise<User> {
  const seen = getManagedChannel(tx, subject, channelId);
  requireManaging(subject, seen);
  const { user_id } = checkMemberInput(input);
  const user = await selectUser(tx, subject.teamId, user_id.toLowerCase());
  if (!user || user.deactivatedAt !== null) {
    throw invalid({ user_id: ["The user_id field must name an active member of the team."] });
  }
  return await joinChannel(tx, seen.channel, user, actorOf(subject));
}

/**
 * Removes a user, who may be the subject, from a private channel (specification part 4, members).
 * @throws DomainError `not_found`, also when the user is not in the channel; `forbidden` as `addMember`.
 */
export async function removeMember(
  tx: Transaction,
  subject: Subject,
  channelId: string,
  userId: string,
): Promise<void> {
  const seen = getManagedChannel(tx, subject, channelId);
  const user = await selectUser(tx, subject.teamId, userId.toLowerCase());
  if (!user || !isMember(tx, seen.channel.id, user.id)) throw notFound("member of the channel");
  requireManaging(subject, seen);
  await leaveChannel(tx, seen.channel, user, actorOf(subject));
}

/**
 * Adds the user to the channel, public or private, posts the notice, emits `channel.member_added` and returns the user.
 * @throws DomainError `forbidden` for an archived channel or a direct message; `invalid` on `user_id` when the user is
 *   deactivated or a member already.
 */
export async function joinChannel(
  tx: Transaction,
  channel: ChannelRow,
  user: UserRow,
  actor: string,
): Promise<User> {
  requireOpenMembership(channel);
  if (user.deactivatedAt !== null) throw invalid({ user_id: [`${user.name} is deactivated.`] });
  if (!(await insertMember(tx, channel.id, user.id, now()))) {
    throw invalid({ user_id: [`${user.name} is a member of ${channel.name} already.`] });
  }
  await addNotice(tx, channel, user, "member_joined");
  const data = { channel_id: channel.id, user: userResource(user) };
  emit<MemberEvent>(tx, channel, { type: "channel.member_added", data });
  await recordMember(tx, channel, user, "channel.member_added", actor);
  return userResource(user);
}

/**
 * Removes the user from the channel, public or private, posts the notice and returns the user.
 * @throws DomainError `forbidden` for an archived channel or a direct message; `not_found` when the user is not a
 *   member.
 */
export async function leaveChannel(
  tx: Transaction,
  channel: ChannelRow,
  user: UserRow,
  actor: string,
): Promise<User> {
  requireOpenMembership(channel);
  if (!isMember(tx, channel.id, user.id)) throw notFound("member of the channel");
  await deleteMember(tx, channel.id, user.id);
  await addNotice(tx, channel, user, "member_left");
  await recordMember(tx, channel, user, "channel.member_removed", actor);
  return userResource(user);
}

function requireManaging(subject: Subject, { channel, isMember }: SeenChannel): void {
  if (channel.isDirect) throw forbidden("The members of a direct message cannot change.");
  if (channel.visibility === "public")
    throw forbidden("Members are added and removed in private channels only.");
  if (!isMember && !isTeamAdmin(subject))
    throw forbidden("Only members of the channel and team admins may do this.");
  requireUnarchived(channel);
}

function requireOpenMembership(channel: ChannelRow): void {
  if (channel.isDirect) throw forbidden("The members of a direct message cannot change.");
  requireUnarchived(channel);
}

async function recordMember(
  tx: Transaction,
  channel: ChannelRow,
  user: UserRow,
  action: string,
  actor: string,
): Promise<void> {
  await record(tx, {
    teamId: channel.teamId,
    actor,
    action,
    target: `channel:${channel.id}`,
    details: { channel: channel.name, user: user.id, name: user.name },
  });
}
