import type { Connection } from "../database/database.ts";
import { cached } from "../database/cached.ts";
import { DomainError, forbidden, notFound } from "../errors.ts";
import { selectJoinedAt } from "./member-store.ts";
import { isTeamAdmin, type Subject } from "../subject.ts";
import { isUuid } from "../input/text.ts";
import { type ChannelRow, selectChannel } from "./store.ts";

export type SeenChannel = { channel: ChannelRow; isMember: boolean };

/** The part of a subject that decides what it sees: its role does not. */
type Viewer = Pick<Subject, "id" | "teamId" | "type">;

/**
 * Returns the channel if the subject may see it: a bot sees the channels that it is in, a human also every public one
 * (specification part 4, channels 1 and 4).
 * @throws DomainError `not_found`, the same for a channel that is hidden, belongs to another team or does not exist.
 */
export function getSeenChannel(db: Connection, subject: Subject, id: string): SeenChannel {
  const found = findChannel(db, subject, id);
  if (isSeen(subject, found)) return found;
  throw notFound("channel");
}

/**
 * Whether the subject may see the channel, by the rules of `getSeenChannel`; with `at`, in milliseconds since 1970,
 * whether it could at that time, so that a membership that began later does not count.
 */
export function canSeeChannel(db: Connection, subject: Viewer, id: string, at = Infinity): boolean {
  const found = channelOf(db, subject.teamId, id.toLowerCase(), subject.id);
  if (!found) return false;
  const { channel, joinedAt } = found;
  return isSeen(subject, { channel, isMember: joinedAt !== undefined && joinedAt <= at });
}

/**
 * Returns the channel if the subject may see or manage it: a team admin manages every channel of the team except the
 * direct messages of others.
 * @throws DomainError `not_found`.
 */
export function getManagedChannel(db: Connection, subject: Subject, id: string): SeenChannel {
  const found = findChannel(db, subject, id);
  if (isSeen(subject, found)) return found;
  if (isTeamAdmin(subject) && !found.channel.isDirect) return found;
  throw notFound("channel");
}

/** @throws DomainError `forbidden` when the subject is not a member or the channel is archived. */
export function requireWritable({ channel, isMember }: SeenChannel): void {
  if (!isMember) throw forbidden("Only members of the channel may do this. Join it first.");
  requireUnarchived(channel);
}

/** The error for a change to an archived channel, for those who tell it from other `forbidden` ones. */
export class ChannelArchived extends DomainError {
  constructor({ name }: ChannelRow) {
    super("forbidden", `The channel ${name} is archived and read-only.`);
  }
}

/** @throws ChannelArchived, a DomainError `forbidden`, when the channel is archived. */
export function requireUnarchived(channel: ChannelRow): void {
  if (channel.isArchived) throw new ChannelArchived(channel);
}

/** Whether every human of the team may read the channel. */
export function isOpen(channel: ChannelRow): boolean {
  return channel.visibility === "public" && !channel.isDirect;
}

function isSeen({ type }: Viewer, { channel, isMember }: SeenChannel): boolean {
  return isMember || (type === "human" && isOpen(channel));
}

function findChannel(db: Connection, subject: Subject, id: string): SeenChannel {
  const found = channelOf(db, subject.teamId, id.toLowerCase(), subject.id);
  if (!found) throw notFound("channel");
  return found;
}

const channelOf = cached((db, teamId: string, channelId: string, userId: string) => {
  const channel = isUuid(channelId) ? selectChannel(db, teamId, channelId) : undefined;
  if (!channel) return undefined;
  const joinedAt = selectJoinedAt(db, channelId, userId);
  return { channel, joinedAt, isMember: joinedAt !== undefined };
});
