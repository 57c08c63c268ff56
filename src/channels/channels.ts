import { record } from "../audit/audit.ts";
import type { Connection, Transaction } from "../database/database.ts";
import { type DomainError, forbidden, invalid } from "../errors.ts";
import { insertMember } from "./member-store.ts";
import { actorOf, isTeamAdmin, type Subject } from "../subject.ts";
import { theOnly, theOnlyWithId } from "../input/reference.ts";
import { byName, slugOf } from "../input/text.ts";
import { timestamp } from "../timestamp.ts";
import { checkOf } from "../input/validation.ts";
import { type Channel, ChannelInput } from "./schemas.ts";
import {
  type ChannelRow,
  insertChannel,
  selectChannelBySlug,
  selectChannels,
  selectChannelsNamed,
  selectJoinedChannels,
  updateArchived,
  updateChannelName,
} from "./store.ts";
import { getManagedChannel, getSeenChannel, isOpen } from "./access.ts";
import { newId, now } from "../system/repeatable.ts";

const checkChannelInput = checkOf(ChannelInput);

/** Returns the channels that the subject may see, ordered by name (specification part 4, channels 1). */
export async function listChannels(db: Connection, subject: Subject): Promise<Channel[]> {
  const joined = await selectJoinedChannels(db, subject.teamId, subject.id);
  const open = subject.type === "bot" ? [] : (await selectChannels(db, subject.teamId)).filter(isOpen);
  const seen = new Map([...joined, ...open].map((channel) => [channel.id, channel]));
  return [...seen.values()].sort(byName).map(channelResource);
}

/** A channel as the command line shows one; `is_managed` says that a company directory controls its members. */
export type ListedChannel = Channel & { is_managed: boolean };

/** Returns every channel of the team, direct messages included, ordered by name: for operators, not for subjects. */
export async function listAllChannels(db: Connection, teamId: string): Promise<ListedChannel[]> {
  return (await selectChannels(db, teamId)).sort(byName).map(listedChannel);
}

/**
 * Returns the channel.
 * @throws DomainError `not_found` when the subject cannot see it.
 */
export async function getChannel(db: Connection, subject: Subject, id: string): Promise<Channel> {
  const { channel } = getSeenChannel(db, subject, id);
  return channelResource(channel);
}

/**
 * Creates a channel with the subject as its first member and returns it (specification part 4).
 * @throws DomainError `invalid` on a field; on `name` also when its slug is taken or empty.
 */
export async function createChannel(
  tx: Transaction,
  subject: Subject,
  input: unknown,
  actor = actorOf(subject),
): Promise<Channel> {
  const { name, visibility, topic } = checkChannelInput(withoutSign(input));
  const channel = {
    teamId: subject.teamId,
    name,
    visibility,
    topic: topic ?? null,
    isGeneral: false,
    members: [subject.id],
    createdBy: subject.id,
  };
  return channelResource(await addChannel(tx, channel, actor));
}

/**
 * Adds a private channel without members that a company directory manages and knows by `externalId`. Returns the row.
 * @throws DomainError `invalid` on `name` as `addChannel`.
 */
export async function createManagedChannel(
  tx: Transaction,
  teamId: string,
  { name, externalId }: { name: string; externalId: string | null },
  actor: string,
): Promise<ChannelRow> {
  const channel = {
    teamId,
    name,
    visibility: "private" as const,
    topic: null,
    isGeneral: false,
    members: [],
    createdBy: null,
    isManaged: true,
    externalId,
  };
  return await addChannel(tx, channel, actor);
}

/**
 * Renames the channel, which changes its slug too, and returns the row.
 * @throws DomainError `invalid` on `name` when the slug is taken in the team or empty.
 */
export async function renameChannel(
  tx: Transaction,
  channel: ChannelRow,
  name: string,
  actor: string,
): Promise<ChannelRow> {
  const slug = slugOf(name);
  if (slug === "") throw withoutSlug();
  if (slug !== channel.slug && (await selectChannelBySlug(tx, channel.teamId, slug))) throw slugTaken(slug);
  await updateChannelName(tx, channel.id, name, slug);
  await recordChannel(tx, channel, "channel.renamed", actor, { to: name });
  return { ...channel, name, slug };
}

/**
 * Adds a channel as given, without notices or events about its first members, and returns the row.
 * @throws DomainError `invalid` on `name` when its slug is taken in the team or empty.
 */
export async function addChannel(
  tx: Transaction,
  input: Pick<ChannelRow, "teamId" | "name" | "visibility" | "topic" | "isGeneral" | "createdBy"> &
    Partial<Pick<ChannelRow, "isManaged" | "externalId">> & {
      members: readonly string[];
      /** Only for a direct message, whose slug is not derived from its name. */
      directSlug?: string;
    },
  actor: string,
): Promise<ChannelRow> {
  const { members, directSlug, ...fields } = input;
  const createdAt = now();
  const slug = directSlug ?? slugOf(input.name);
  if (slug === "") throw withoutSlug();
  const channel: ChannelRow = {
    isManaged: false,
    externalId: null,
    ...fields,
    id: newId(),
    slug,
    isArchived: false,
    isDirect: directSlug !== undefined,
    updatedAt: createdAt,
    createdAt,
  };
  if (!(await insertChannel(tx, channel))) throw slugTaken(slug);
  for (const userId of members) await insertMember(tx, channel.id, userId, createdAt);
  const { isManaged, isDirect } = channel;
  await recordChannel(tx, channel, "channel.created", actor, {
    ...(isManaged && { is_managed: true }),
    ...(isDirect && { is_direct: true }),
  });
  return channel;
}

/**
 * Archives a channel as the subject and returns it (specification part 3). A bot may archive the channels that it
 * created; a human those too and, as a team admin, any other. Idempotent for humans.
 * @throws DomainError `not_found`; `forbidden` for any other subject, for a bot's channel that is archived already,
 *   for the general channel and for direct messages.
 */
export async function archiveChannel(tx: Transaction, subject: Subject, id: string): Promise<Channel> {
  const { channel } = getManagedChannel(tx, subject, id);
  const isCreator = channel.createdBy === subject.id;
  if (subject.type === "bot") {
    if (!isCreator) throw forbidden("A bot may archive only the channels that it created.");
    if (channel.isArchived) throw forbidden("The channel is already archived.");
  } else if (!isCreator && !isTeamAdmin(subject)) {
    throw forbidden("Only the channel's creator or a team admin may archive it.");
  }
  return await setArchived(tx, channel, true, actorOf(subject));
}

/**
 * Archives or unarchives the channel and returns it. Idempotent.
 * @throws DomainError `forbidden` for the general channel and direct messages.
 */
export async function setArchived(
  tx: Transaction,
  channel: ChannelRow,
  isArchived: boolean,
  actor: string,
): Promise<Channel> {
  if (channel.isGeneral) throw forbidden("The general channel cannot be archived.");
  if (channel.isDirect) throw forbidden("A direct message cannot be archived.");
  if (channel.isArchived !== isArchived) {
    await updateArchived(tx, channel.id, isArchived);
    await recordChannel(tx, channel, isArchived ? "channel.archived" : "channel.unarchived", actor);
  }
  return channelResource({ ...channel, isArchived });
}

/**
 * Returns the channel that someone at the command line refers to by id, slug or name, with or without a `#`, or by the
 * start or end of its id.
 * @throws DomainError `not_found`; `conflict`, with the ids, when several have the name and none the slug.
 */
export async function getChannelNamed(
  db: Connection,
  teamId: string,
  reference: string,
): Promise<ChannelRow> {
  const bare = reference.startsWith("#") ? reference.slice(1) : reference;
  const found = await selectChannelsNamed(db, teamId, bare);
  if (found.length === 0) return theOnlyWithId(await selectChannels(db, teamId), "channel", reference);
  return found.find(({ slug }) => slug === bare) ?? theOnly(found, "channel", reference);
}

/** The channel as the API shows it (specification part 2). */
export function channelResource(row: ChannelRow): Channel {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    visibility: row.visibility,
    topic: row.topic,
    is_general: row.isGeneral,
    is_archived: row.isArchived,
    is_direct: row.isDirect,
    created_at: timestamp(row.createdAt),
  };
}

/** The channel as the command line shows it. */
export function listedChannel(row: ChannelRow): ListedChannel {
  return { ...channelResource(row), is_managed: row.isManaged };
}

/** The input with one leading `#` dropped from its name, before the length is checked. */
function withoutSign(input: unknown): unknown {
  if (typeof input !== "object" || input === null || !("name" in input)) return input;
  const { name } = input;
  return typeof name === "string" && name.startsWith("#") ? { ...input, name: name.slice(1) } : input;
}

async function recordChannel(
  tx: Transaction,
  channel: ChannelRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<void> {
  await record(tx, {
    teamId: channel.teamId,
    actor,
    action,
    target: `channel:${channel.id}`,
    details: { name: channel.name, ...details },
  });
}

function withoutSlug(): DomainError {
  return invalid({ name: ["The name field must contain a letter or a digit."] });
}

function slugTaken(slug: string): DomainError {
  return invalid({ name: [`There is a channel with the slug ${slug} in this workspace already.`] });
}
