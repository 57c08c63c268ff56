import { and, eq, getTableColumns, inArray, or, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared, query } from "../database/prepared.ts";
import { channelMembers, channels } from "../database/schema.ts";
import { now } from "../system/repeatable.ts";

/** The columns of a channel that rarely change: all but `lastPosition`, which every message changes. */
export type ChannelRow = Omit<typeof channels.$inferSelect, "lastPosition">;

const { lastPosition: _lastPosition, ...columnsOfRow } = getTableColumns(channels);

/** The columns of a `ChannelRow`, also for queries that join channels. */
export const channelColumns = columnsOfRow;

/** Adds the channel unless its slug is taken in the team. Returns whether it did. */
export async function insertChannel(tx: Transaction, row: ChannelRow): Promise<boolean> {
  const added = await tx
    .insert(channels)
    .values({ ...row, lastPosition: 0 })
    .onConflictDoNothing()
    .returning({ id: channels.id });
  return added.length > 0;
}

const byIdStatement = prepared((db) =>
  db
    .select(channelColumns)
    .from(channels)
    .where(and(eq(channels.id, sql.placeholder("id")), eq(channels.teamId, sql.placeholder("teamId"))))
    .prepare(),
);

export function selectChannel(db: Connection, teamId: string, id: string): ChannelRow | undefined {
  return byIdStatement(db).get({ teamId, id });
}

/** Returns those of the ids that are channels of the team. */
export async function selectChannelIds(db: Connection, teamId: string, ids: string[]): Promise<string[]> {
  const rows = await db
    .select({ id: channels.id })
    .from(channels)
    .where(and(inArray(channels.id, ids), eq(channels.teamId, teamId)));
  return rows.map(({ id }) => id);
}

/** Returns every channel of the team with this id, slug or exact name. */
export async function selectChannelsNamed(
  db: Connection,
  teamId: string,
  reference: string,
): Promise<ChannelRow[]> {
  return await db
    .select(channelColumns)
    .from(channels)
    .where(
      and(
        eq(channels.teamId, teamId),
        or(
          eq(channels.id, reference.toLowerCase()),
          eq(channels.slug, reference),
          eq(channels.name, reference),
        ),
      ),
    );
}

export async function selectChannelBySlug(
  db: Connection,
  teamId: string,
  slug: string,
): Promise<ChannelRow | undefined> {
  const [row] = await db
    .select(channelColumns)
    .from(channels)
    .where(and(eq(channels.teamId, teamId), eq(channels.slug, slug)));
  return row;
}

/** Returns every channel of the team, direct messages included, in no particular order. */
export async function selectChannels(db: Connection, teamId: string): Promise<ChannelRow[]> {
  return await db.select(channelColumns).from(channels).where(eq(channels.teamId, teamId));
}

/** Returns the channels that the user is a member of. */
export async function selectJoinedChannels(
  db: Connection,
  teamId: string,
  userId: string,
): Promise<ChannelRow[]> {
  const rows = await db
    .select({ channel: channelColumns })
    .from(channelMembers)
    .innerJoin(channels, eq(channels.id, channelMembers.channelId))
    .where(and(eq(channelMembers.userId, userId), eq(channels.teamId, teamId)));
  return rows.map(({ channel }) => channel);
}

export async function updateArchived(tx: Transaction, id: string, isArchived: boolean): Promise<void> {
  await tx.update(channels).set({ isArchived, updatedAt: now() }).where(eq(channels.id, id));
}

export async function updateChannelName(
  tx: Transaction,
  id: string,
  name: string,
  slug: string,
): Promise<void> {
  await tx.update(channels).set({ name, slug, updatedAt: now() }).where(eq(channels.id, id));
}

const newestStatement = query<{ last_position: number }, [string]>(
  "SELECT last_position FROM channels WHERE id = ?",
);

/** The position of the channel's newest message, which equals the number of messages; 0 for an unknown channel. */
export function selectLastPosition(db: Connection, channelId: string): number {
  return newestStatement(db).get(channelId)?.last_position ?? 0;
}
