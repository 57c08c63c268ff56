import { record } from "../../audit/audit.ts";
import type { ChannelRow } from "../../channels/store.ts";
import type { Connection, Transaction } from "../../database/database.ts";
import { joinChannel, leaveChannel } from "../../members/members.ts";
import { insertMember } from "../../channels/member-store.ts";
import type { UserRow } from "../../users/store.ts";
import { itemsOf } from "../protocol/document.ts";
import { scimError } from "../protocol/errors.ts";
import type { Filter } from "../protocol/filter.ts";
import type { PatchOperation } from "../protocol/patch.ts";
import { scimActor } from "../protocol/directory.ts";
import { selectPeopleOf } from "../users/store.ts";
import { selectPeopleIn } from "./store.ts";
import { now } from "../../system/repeatable.ts";

/**
 * The members to add to a group and to remove from it, collected over the operations of a request, so that the cost
 * depends on the size of the change and not of the group.
 */
export class MemberChange {
  /** Whether all members who are not in `added` leave. */
  isReplaced = false;
  readonly added = new Set<string>();
  readonly removed = new Set<string>();

  /**
   * Applies an operation on `members`.
   * @throws ScimError `invalidPath`, `invalidFilter`, `invalidValue`; `noTarget` for a person who is not in the group.
   */
  async apply(
    db: Connection,
    channelId: string | undefined,
    { op, target, value }: PatchOperation,
  ): Promise<void> {
    const { attribute, subAttribute, filter } = target;
    if (subAttribute || (filter && op !== "remove")) {
      throw scimError(
        "invalidPath",
        "Add members with the path members; remove them with members or members[value eq …].",
      );
    }
    if (filter) return await this.#removeSelected(db, channelId, idsOf(filter));
    const isEverybody = value === undefined || value === null;
    const ids = itemsOf(attribute, value).map((item) => String(item.value).toLowerCase());
    if (op === "replace" || (op === "remove" && isEverybody)) this.#clear();
    for (const id of ids) {
      (op === "remove" ? this.removed : this.added).add(id);
      (op === "remove" ? this.added : this.removed).delete(id);
    }
  }

  #clear(): void {
    this.isReplaced = true;
    this.added.clear();
    this.removed.clear();
  }

  async #removeSelected(db: Connection, channelId: string | undefined, ids: string[]): Promise<void> {
    for (const id of ids) {
      const isThere = this.added.has(id) || (!this.isReplaced && !this.removed.has(id));
      const isIn =
        this.added.has(id) || (channelId && (await selectPeopleIn(db, channelId, [id])).length > 0);
      if (!isThere || !isIn)
        throw scimError("noTarget", `${JSON.stringify(id)} is not a member of the group.`);
      this.added.delete(id);
      this.removed.add(id);
    }
  }
}

/**
 * Adds and removes the members, with their notices and events. A deactivated person is added without these, to be in
 * the group when reactivated. Returns whether anything changed.
 * @throws ScimError `invalidValue` for an id that is not of a person in the team.
 */
export async function changeMembers(
  tx: Transaction,
  channel: ChannelRow,
  change: MemberChange,
): Promise<boolean> {
  const added = await getPeople(tx, channel.teamId, [...change.added]);
  const present = await selectPeopleIn(
    tx,
    channel.id,
    change.isReplaced ? undefined : [...change.added, ...change.removed],
  );
  const leaving = present.filter(({ id }) => !change.added.has(id));
  const there = new Set(present.map(({ id }) => id));
  const joining = added.filter(({ id }) => !there.has(id));
  for (const user of leaving) await leaveChannel(tx, channel, user, scimActor);
  for (const user of joining) await join(tx, channel, user);
  return leaving.length + joining.length > 0;
}

async function getPeople(db: Connection, teamId: string, ids: string[]): Promise<UserRow[]> {
  const people = ids.length === 0 ? [] : await selectPeopleOf(db, teamId, ids);
  const known = new Set(people.map(({ id }) => id));
  const stranger = ids.find((id) => !known.has(id));
  if (stranger === undefined) return people;
  throw scimError("invalidValue", `${JSON.stringify(stranger.slice(0, 100))} is not the id of a User.`);
}

async function join(tx: Transaction, channel: ChannelRow, user: UserRow): Promise<void> {
  if (user.deactivatedAt === null) {
    await joinChannel(tx, channel, user, scimActor);
    return;
  }
  await insertMember(tx, channel.id, user.id, now());
  await record(tx, {
    teamId: channel.teamId,
    actor: scimActor,
    action: "channel.member_added",
    target: `channel:${channel.id}`,
    details: { channel: channel.name, user: user.id, name: user.name },
  });
}

/** Returns the ids in `value eq "…"`, or in several of these joined by `or`. */
function idsOf(filter: Filter): string[] {
  if (filter.op === "eq" && filter.path === "value") return [String(filter.value).toLowerCase()];
  if (filter.op === "or") return filter.filters.flatMap(idsOf);
  throw scimError("invalidFilter", 'Select members by value eq "…", joined by or.');
}
