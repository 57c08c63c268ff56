import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { insertInto, prepared } from "../database/prepared.ts";
import { remembered } from "../database/remembered.ts";
import { events, subscriptionFilters } from "../database/schema.ts";

const wanting = prepared((db) =>
  db
    .select({ id: subscriptionFilters.subscriptionId })
    .from(subscriptionFilters)
    .where(
      and(
        eq(subscriptionFilters.teamId, sql.placeholder("teamId")),
        eq(subscriptionFilters.eventType, sql.placeholder("type")),
        // The empty text stands for every channel.
        sql`${subscriptionFilters.channelId} IN ('', ${sql.placeholder("channelId")})`,
      ),
    )
    .prepare(),
);

/** Longer lists are looked up each time: there can be many of them. */
const rememberedIdsMax = 100;

/** The active subscriptions that want events of the type in the channel. */
export const selectWantingSubscriptions = remembered(
  (db, teamId: string, type: string, channelId: string): readonly string[] =>
    wanting(db)
      .all({ teamId, type, channelId })
      .map(({ id }) => id),
  ({ length }) => length <= rememberedIdsMax,
);

const insert = insertInto(events);

export function insertEvent(tx: Writing, row: Omit<typeof events.$inferSelect, "seq">): void {
  insert(tx, row);
}

const byId = prepared((db) =>
  db
    .select({ type: events.type, envelope: events.envelope })
    .from(events)
    .where(eq(events.id, sql.placeholder("id")))
    .prepare(),
);

/** The event's type and the envelope as it is sent, or undefined when retention has taken it. */
export async function selectEvent(db: Reading, id: string) {
  const [row] = await byId(db).execute({ id });
  return row;
}

/** The events after the given place, in their order. */
export async function selectEventIds(
  db: Reading,
  { after, limit }: { after: number; limit: number },
): Promise<Array<{ seq: number; id: string }>> {
  return await db
    .select({ seq: events.seq, id: events.id })
    .from(events)
    .where(gt(events.seq, after))
    .orderBy(asc(events.seq))
    .limit(limit);
}

export async function deleteEvents(tx: Writing, ids: string[]): Promise<void> {
  await tx.delete(events).where(inArray(events.id, ids));
}
