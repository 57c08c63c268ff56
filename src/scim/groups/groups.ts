import { createManagedChannel, renameChannel, setArchived } from "../../channels/channels.ts";
import { ChannelInput } from "../../channels/schemas.ts";
import {
  type ChannelRow,
  selectChannel,
  selectChannelBySlug,
  updateChannelName,
} from "../../channels/store.ts";
import type { Connection, Transaction } from "../../database/database.ts";
import { isUuid, slugOf } from "../../input/text.ts";
import { checkOf } from "../../input/validation.ts";
import { groupResourceType } from "../protocol/attributes.ts";
import { type Directory, scimActor } from "../protocol/directory.ts";
import { Document } from "../protocol/document.ts";
import { noResource, scimError } from "../protocol/errors.ts";
import { type PatchOperation, operationsOf, operationsOfObject, apply } from "../protocol/patch.ts";
import { isWanted, type Projection, type Resource } from "../protocol/projection.ts";
import type { Query } from "../protocol/query.ts";
import { changeMembers, MemberChange } from "./members.ts";
import { groupResource } from "./resource.ts";
import { countGroups, type GroupMember, selectGroupMembers, selectGroups, updateGroup } from "./store.ts";
import { now } from "../../system/repeatable.ts";

/** The maximum number of members in one response, over all its groups; without `members` there is no limit. */
const membersMax = 100_000;

const checkName = checkOf(ChannelInput);

/** A group as the directory wants it, without its members. */
type DesiredGroup = { name: string; externalId: string | null };

/**
 * Returns a page of the groups that match the query, and their total number.
 * @throws ScimError `invalidFilter`; `tooMany` for more members than one response shows.
 */
export async function listGroups(
  db: Connection,
  { teamId, root }: Directory,
  query: Query,
): Promise<{ total: number; resources: Resource[] }> {
  const rows = query.count === 0 ? [] : await selectGroups(db, teamId, query);
  const members = isWanted(query.projection, "members") ? await membersOf(db, rows) : undefined;
  return {
    total: await countGroups(db, teamId, query),
    resources: rows.map((row) => groupResource(row, members && (members.get(row.id) ?? []), root)),
  };
}

/**
 * Returns the group, with its members if the projection has them.
 * @throws ScimError 404; `tooMany` for more members than one response shows.
 */
export async function getGroup(
  db: Connection,
  directory: Directory,
  id: string,
  projection: Projection,
): Promise<Resource> {
  const channel = await getGroupChannel(db, directory, id);
  const members = isWanted(projection, "members") ? await membersOf(db, [channel]) : undefined;
  return groupResource(channel, members && (members.get(channel.id) ?? []), directory.root);
}

/**
 * Creates a private channel that the directory manages; its members join it.
 * @throws ScimError `invalidValue`; `uniqueness` when a channel has the name.
 */
export async function createGroup(
  tx: Transaction,
  directory: Directory,
  body: object,
  projection: Projection,
): Promise<Resource> {
  const document = new Document();
  const change = await applyAll(
    tx,
    undefined,
    document,
    operationsOfObject(groupResourceType, "replace", body),
  );
  const desired = desiredGroupOf(document);
  await releaseSlug(tx, directory.teamId, desired.name);
  const channel = await createManagedChannel(tx, directory.teamId, desired, scimActor);
  await changeMembers(tx, channel, change);
  return await getGroup(tx, directory, channel.id, projection);
}

/**
 * Makes the group what the body says; where it leaves the members out, there are none any more.
 * @throws ScimError 404, `invalidValue`, `uniqueness`.
 */
export async function replaceGroup(
  tx: Transaction,
  directory: Directory,
  id: string,
  body: object,
  projection: Projection,
): Promise<Resource> {
  const channel = await getGroupChannel(tx, directory, id);
  const document = new Document();
  const change = await applyAll(
    tx,
    channel.id,
    document,
    operationsOfObject(groupResourceType, "replace", body),
  );
  change.isReplaced = true;
  await save(tx, channel, desiredGroupOf(document), change);
  return await getGroup(tx, directory, channel.id, projection);
}

/**
 * Applies all operations of a PATCH, or none. Returns the group only when the request asked for attributes of it (RFC
 * 7644, section 3.5.2): it may have many members, and Entra ID expects no body.
 * @throws ScimError 404 and as `operationsOf`, `apply` and `changeMembers`; `tooMany` for more members than one
 *   response shows.
 */
export async function patchGroup(
  tx: Transaction,
  directory: Directory,
  id: string,
  body: object,
  projection: Projection,
): Promise<Resource | undefined> {
  const channel = await getGroupChannel(tx, directory, id);
  const document = new Document();
  document.put("displayName", channel.name);
  document.put("externalId", channel.externalId);
  const change = await applyAll(tx, channel.id, document, operationsOf(groupResourceType, body));
  await save(tx, channel, desiredGroupOf(document), change);
  return projection.only && (await getGroup(tx, directory, channel.id, projection));
}

/**
 * Archives the channel and hides it from the directory.
 * @throws ScimError 404.
 */
export async function deleteGroup(tx: Transaction, directory: Directory, id: string): Promise<void> {
  await setArchived(tx, await getGroupChannel(tx, directory, id), true, scimActor);
}

async function getGroupChannel(db: Connection, { teamId }: Directory, id: string): Promise<ChannelRow> {
  const row = isUuid(id) ? selectChannel(db, teamId, id.toLowerCase()) : undefined;
  if (!row || !row.isManaged || row.isArchived) throw noResource("Group", id);
  return row;
}

/** Applies the operations to the document; those on members are collected and returned. */
async function applyAll(
  db: Connection,
  channelId: string | undefined,
  document: Document,
  operations: readonly PatchOperation[],
): Promise<MemberChange> {
  const change = new MemberChange();
  for (const operation of operations) {
    if (operation.target.attribute.name === "members") await change.apply(db, channelId, operation);
    else apply(document, operation);
  }
  return change;
}

function desiredGroupOf(document: Document): DesiredGroup {
  const displayName = document.text("displayName");
  if (displayName === undefined)
    throw scimError("invalidValue", "displayName is required, and takes a string.");
  const { name } = checkName({ name: displayName, visibility: "private" });
  if (slugOf(name) === "") throw scimError("invalidValue", "displayName needs a letter or a digit.");
  return { name, externalId: document.text("externalId") ?? null };
}

/** Writes only what has changed. */
async function save(
  tx: Transaction,
  channel: ChannelRow,
  { name, externalId }: DesiredGroup,
  change: MemberChange,
): Promise<void> {
  if (name !== channel.name) {
    await releaseSlug(tx, channel.teamId, name, channel.id);
    await renameChannel(tx, channel, name, scimActor);
  }
  const hasChanged = await changeMembers(tx, { ...channel, name }, change);
  if (!hasChanged && externalId === channel.externalId) return;
  await updateGroup(tx, channel.id, { externalId, updatedAt: now() });
}

/**
 * Makes the name available to a group. The channel of a deleted group gives up its slug but is not reused: its messages
 * are not for the members of a later group with the same name.
 */
async function releaseSlug(tx: Transaction, teamId: string, name: string, ownId?: string): Promise<void> {
  const holder = await selectChannelBySlug(tx, teamId, slugOf(name));
  if (!holder || holder.id === ownId) return;
  if (holder.isManaged && holder.isArchived) {
    return await updateChannelName(tx, holder.id, holder.name, `${holder.slug}-${holder.id}`);
  }
  const noun = holder.isManaged ? "Group" : "channel that the directory does not manage";
  throw scimError("uniqueness", `There is already a ${noun} named ${JSON.stringify(holder.name)}.`);
}

async function membersOf(db: Connection, rows: readonly ChannelRow[]): Promise<Map<string, GroupMember[]>> {
  const ids = rows.map(({ id }) => id);
  const members = ids.length === 0 ? [] : await selectGroupMembers(db, ids, membersMax + 1);
  if (members.length > membersMax) {
    throw scimError(
      "tooMany",
      `A response holds at most ${membersMax} members: send excludedAttributes=members, or ask for fewer groups.`,
    );
  }
  return Map.groupBy(members, ({ channelId }) => channelId);
}
