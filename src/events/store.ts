import { and, asc, eq, gt, inArray, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { prepared } from "../database/prepared.ts";
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

/** The active subscriptions that want events of the type in the channel. */
export async function selectWantingSubscriptions(
  db: Reading,
  key: { teamId: string; type: string; channelId: string },
): Promise<string[]> {
  const rows = await wanting(db).execute(key);
  return rows.map(({ id }) => id);
}

const insert = prepared((db) =>
  db
    .insert(events)
    .values({
      id: sql.placeholder("id"),
      type: sql.placeholder("type"),
      envelope: sql.placeholder("envelope"),
      createdAt: sql.placeholder("createdAt"),
    })
    .prepare(),
);

export async function insertEvent(
  tx: Writing,
  row: { id: string; type: string; envelope: string; createdAt: number },
): Promise<void> {
  await insert(tx).execute(row);
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
