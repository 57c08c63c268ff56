import { and, asc, desc, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { ChannelRow } from "../../channels/store.ts";
import type { Connection, Transaction } from "../../database/database.ts";
import { channelMembers, channels, users } from "../../database/schema.ts";
import { caseless, inOrder } from "../../database/text.ts";
import type { UserRow } from "../../users/store.ts";
import type { Query } from "../protocol/query.ts";
import { conditionOf, type Tables } from "../protocol/store.ts";

/** The channels that are groups. Literally as in the partial indexes, which bound values would not match. */
const isGroup = sql`${channels.isManaged} = 1 AND ${channels.isArchived} = 0`;

const tablesFor = (engine: Connection["engine"]): Tables => ({
  engine,
  columns: new Map([
    ["id", sql`${channels.id}`],
    ["externalId", sql`${channels.externalId}`],
    ["displayName", caseless(engine, channels.name)],
    ["meta.created", sql`${channels.createdAt}`],
    ["meta.lastModified", sql`${channels.updatedAt}`],
  ]),
  lists: new Map([
    [
      "members",
      (where) =>
        sql`${channels.id} IN (SELECT ${channelMembers.channelId} FROM ${channelMembers} WHERE ${where(memberColumns)})`,
    ],
  ]),
});

const memberColumns = new Map([["value", sql`${channelMembers.userId}`]]);

/** Returns a page of the team's groups, in an order that is the same for all pages. */
export async function selectGroups(db: Connection, teamId: string, query: Query): Promise<ChannelRow[]> {
  const direction = query.isDescending ? desc : asc;
  const column = query.sortBy === undefined ? undefined : tablesFor(db.engine).columns.get(query.sortBy);
  return await db
    .select()
    .from(channels)
    .where(matching(db, teamId, query))
    .orderBy(...(column ? [inOrder(column, query.isDescending)] : []), direction(channels.id))
    .limit(query.count)
    .offset(query.startIndex - 1);
}

/** Counts the groups of the team that match the filter. */
export async function countGroups(db: Connection, teamId: string, query: Query): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)` })
    .from(channels)
    .where(matching(db, teamId, query));
  return row?.count ?? 0;
}

function matching({ engine }: Connection, teamId: string, { filter }: Query): SQL | undefined {
  return and(eq(channels.teamId, teamId), isGroup, filter && conditionOf(filter, tablesFor(engine)));
}

/** A person in a group. */
export type GroupMember = { channelId: string; id: string; name: string };

/** Returns the people in these channels whom the directory sees, at most `limit`. */
export async function selectGroupMembers(
  db: Connection,
  channelIds: readonly string[],
  limit: number,
): Promise<GroupMember[]> {
  return await db
    .select({ channelId: channelMembers.channelId, id: users.id, name: users.name })
    .from(channelMembers)
    .innerJoin(users, eq(users.id, channelMembers.userId))
    .where(
      and(
        inArray(channelMembers.channelId, [...channelIds]),
        sql`${users.type} = 'human' AND ${users.removedAt} IS NULL`,
      ),
    )
    .orderBy(asc(channelMembers.channelId), asc(channelMembers.userId))
    .limit(limit);
}

/**
 * Returns the people in the channel, or those with one of the `ids`. People whom the directory deleted are included;
 * bots, which it does not manage, are not.
 */
export async function selectPeopleIn(
  db: Connection,
  channelId: string,
  ids?: readonly string[],
): Promise<UserRow[]> {
  const rows = await db
    .select({ user: users })
    .from(channelMembers)
    .innerJoin(users, eq(users.id, channelMembers.userId))
    .where(
      and(
        eq(channelMembers.channelId, channelId),
        ids && inArray(channelMembers.userId, [...ids]),
        eq(users.type, "human"),
      ),
    )
    .orderBy(asc(channelMembers.userId));
  return rows.map(({ user }) => user);
}

export async function updateGroup(
  tx: Transaction,
  id: string,
  changes: { externalId: string | null; updatedAt: number },
): Promise<void> {
  await tx.update(channels).set(changes).where(eq(channels.id, id));
}
