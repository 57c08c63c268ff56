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
import { type PatchOperation, stepsOf, stepsOfObject, take } from "../protocol/patch.ts";
import { isWanted, type Projection, type Resource } from "../protocol/projection.ts";
import type { Query } from "../protocol/query.ts";
import { changeMembers, MemberChange } from "./members.ts";
import { groupResource } from "./resource.ts";
import { countGroups, type GroupMember, selectGroupMembers, selectGroups, updateGroup } from "./store.ts";

/** How many members one answer shows at most, over all its groups; without `members` there is no limit. */
const membersMax = 100_000;

const checkName = checkOf(ChannelInput);

/** What a directory wants of a group besides its members. */
type Wanted = { name: string; externalId: string | null };

/**
 * The groups that fit the query, and how many there are in all.
 * @throws ScimError `invalidFilter`; `tooMany` for more members than one answer shows.
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

/** @throws ScimError 404; `tooMany` for more members than one answer shows. */
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
 * Makes a private channel that the directory manages; its members join it.
 * @throws ScimError `invalidValue`; `uniqueness` when a channel has the name.
 */
export async function createGroup(
  tx: Transaction,
  directory: Directory,
  body: object,
  projection: Projection,
): Promise<Resource> {
  const document = new Document();
  const change = await takeAll(tx, undefined, document, stepsOfObject(groupResourceType, "replace", body));
  const wanted = wantedOf(document);
  await releaseSlug(tx, directory.teamId, wanted.name);
  const channel = await createManagedChannel(tx, directory.teamId, wanted, scimActor);
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
  const change = await takeAll(tx, channel.id, document, stepsOfObject(groupResourceType, "replace", body));
  change.isReplaced = true;
  await save(tx, channel, wantedOf(document), change);
  return await getGroup(tx, directory, channel.id, projection);
}

/**
 * Takes all the steps of a PATCH, or none. Returns the group only where attributes of it were asked for, as RFC 7644
 * section 3.5.2 demands: it may have many members, and Entra ID wants no body.
 * @throws ScimError 404 and as `stepsOf`, `take` and `changeMembers`; `tooMany` for more members than one answer shows.
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
  const change = await takeAll(tx, channel.id, document, stepsOf(groupResourceType, body));
  await save(tx, channel, wantedOf(document), change);
  return projection.only && (await getGroup(tx, directory, channel.id, projection));
}

/**
 * Archives the channel; for the directory it is gone.
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

/** Takes the steps in the document; those that are about members are gathered and returned. */
async function takeAll(
  db: Connection,
  channelId: string | undefined,
  document: Document,
  steps: readonly PatchOperation[],
): Promise<MemberChange> {
  const change = new MemberChange();
  for (const step of steps) {
    if (step.target.attribute.name === "members") await change.take(db, channelId, step);
    else take(document, step);
  }
  return change;
}

function wantedOf(document: Document): Wanted {
  const displayName = document.text("displayName");
  if (displayName === undefined)
    throw scimError("invalidValue", "displayName takes a text, and is required.");
  const { name } = checkName({ name: displayName, visibility: "private" });
  if (slugOf(name) === "") throw scimError("invalidValue", "displayName needs a letter or a digit.");
  return { name, externalId: document.text("externalId") ?? null };
}

/** Writes what is different, and nothing where nothing is. */
async function save(
  tx: Transaction,
  channel: ChannelRow,
  { name, externalId }: Wanted,
  change: MemberChange,
): Promise<void> {
  if (name !== channel.name) {
    await releaseSlug(tx, channel.teamId, name, channel.id);
    await renameChannel(tx, channel, name, scimActor);
  }
  const hasChanged = await changeMembers(tx, { ...channel, name }, change);
  if (!hasChanged && externalId === channel.externalId) return;
  await updateGroup(tx, channel.id, { externalId, updatedAt: Date.now() });
}

/**
 * Makes sure that a group can have the name. The channel of a group that was deleted gives its slug up, and is not
 * taken for the new one: its messages are not for whoever is in a group of the same name later.
 */
async function releaseSlug(tx: Transaction, teamId: string, name: string, ownId?: string): Promise<void> {
  const holder = await selectChannelBySlug(tx, teamId, slugOf(name));
  if (!holder || holder.id === ownId) return;
  if (holder.isManaged && holder.isArchived) {
    return await updateChannelName(tx, holder.id, holder.name, `${holder.slug}-${holder.id}`);
  }
  const what = holder.isManaged ? "Group" : "channel that the directory does not manage";
  throw scimError("uniqueness", `There is a ${what} of the name ${JSON.stringify(holder.name)} already.`);
}

async function membersOf(db: Connection, rows: readonly ChannelRow[]): Promise<Map<string, GroupMember[]>> {
  const ids = rows.map(({ id }) => id);
  const members = ids.length === 0 ? [] : await selectGroupMembers(db, ids, membersMax + 1);
  if (members.length > membersMax) {
    throw scimError(
      "tooMany",
      `An answer shows ${membersMax} members: ask with excludedAttributes=members, or for fewer groups.`,
    );
  }
  return Map.groupBy(members, ({ channelId }) => channelId);
}
