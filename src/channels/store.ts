import { and, eq, inArray, or, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { prepared } from "../database/prepared.ts";
import { channelMembers, channels } from "../database/schema.ts";

export type ChannelRow = typeof channels.$inferSelect;

/** Adds the channel unless its slug is taken in the team; whether it did. */
export async function insertChannel(tx: Writing, row: ChannelRow): Promise<boolean> {
  const added = await tx.insert(channels).values(row).onConflictDoNothing().returning({ id: channels.id });
  return added.length > 0;
}

const byId = prepared((db) =>
  db
    .select()
    .from(channels)
    .where(and(eq(channels.id, sql.placeholder("id")), eq(channels.teamId, sql.placeholder("teamId"))))
    .prepare(),
);

export async function selectChannel(
  db: Reading,
  teamId: string,
  id: string,
): Promise<ChannelRow | undefined> {
  const [row] = await byId(db).execute({ teamId, id });
  return row;
}

/** Which of the ids are those of channels of the team. */
export async function selectChannelIds(db: Reading, teamId: string, ids: string[]): Promise<string[]> {
  const rows = await db
    .select({ id: channels.id })
    .from(channels)
    .where(and(inArray(channels.id, ids), eq(channels.teamId, teamId)));
  return rows.map(({ id }) => id);
}

/** Every channel of the team that has this id, slug or exact name. */
export async function selectChannelsNamed(
  db: Reading,
  teamId: string,
  reference: string,
): Promise<ChannelRow[]> {
  return await db
    .select()
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
  db: Reading,
  teamId: string,
  slug: string,
): Promise<ChannelRow | undefined> {
  const [row] = await db
    .select()
    .from(channels)
    .where(and(eq(channels.teamId, teamId), eq(channels.slug, slug)));
  return row;
}

export async function selectChannels(db: Reading, teamId: string): Promise<ChannelRow[]> {
  return await db.select().from(channels).where(eq(channels.teamId, teamId));
}

/** The channels that the user is a member of. */
export async function selectJoinedChannels(
  db: Reading,
  teamId: string,
  userId: string,
): Promise<ChannelRow[]> {
  const rows = await db
    .select({ channel: channels })
    .from(channelMembers)
    .innerJoin(channels, eq(channels.id, channelMembers.channelId))
    .where(and(eq(channelMembers.userId, userId), eq(channels.teamId, teamId)));
  return rows.map(({ channel }) => channel);
}

export async function updateArchived(tx: Writing, id: string, isArchived: boolean): Promise<void> {
  await tx.update(channels).set({ isArchived, updatedAt: Date.now() }).where(eq(channels.id, id));
}

export async function updateChannelName(tx: Writing, id: string, name: string, slug: string): Promise<void> {
  await tx.update(channels).set({ name, slug, updatedAt: Date.now() }).where(eq(channels.id, id));
}

const advance = prepared((db) =>
  db
    .update(channels)
    .set({ lastPosition: sql`${channels.lastPosition} + 1` })
    .where(eq(channels.id, sql.placeholder("id")))
    .returning({ position: channels.lastPosition })
    .prepare(),
);

/** Takes the channel's next position, from 1 on. Must be used in the same write, or a gap is left. */
export async function takePosition(tx: Writing, channelId: string): Promise<number> {
  const [row] = await advance(tx).execute({ id: channelId });
  if (!row) throw new Error(`channel ${channelId} vanished inside a write`);
  return row.position;
}
