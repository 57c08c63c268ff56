import { and, asc, eq, gt, inArray, lte, max, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared, query } from "../database/prepared.ts";
import { cached } from "../database/cached.ts";
import { events, subscriptionFilters, subscriptions } from "../database/schema.ts";
import { insertInto } from "../database/table-sql.ts";
import { envelopeOf } from "./envelope.ts";

/**
 * The maximum number of subscriptions for which an event is queued within its own commit; above that, a fan-out does
 * it.
 */
export const queuedWithEventMax = 100;

const matchingStatement = prepared((db) =>
  db
    .select({ id: subscriptionFilters.subscriptionId })
    .from(subscriptionFilters)
    .where(
      and(
        eq(subscriptionFilters.teamId, sql.placeholder("teamId")),
        eq(subscriptionFilters.eventType, sql.placeholder("type")),
        // The empty string means every channel.
        sql`${subscriptionFilters.channelId} IN ('', ${sql.placeholder("channelId")})`,
      ),
    )
    .limit(queuedWithEventMax + 1)
    .prepare(),
);

/**
 * The subscriptions to events of the type in the channel. Disabled ones are included: their events wait. Returns at
 * most `queuedWithEventMax` + 1.
 */
export const selectMatchingSubscriptions = cached(
  (db, teamId: string, type: string, channelId: string): readonly string[] =>
    matchingStatement(db)
      .all({ teamId, type, channelId })
      .map(({ id }) => id),
);

const insertStatement = insertInto(events);

/** Stores the event and returns its sequence number. */
export function insertEvent(tx: Transaction, row: Omit<typeof events.$inferSelect, "seq">): number {
  return Number(insertStatement(tx, row).lastInsertRowid);
}

const bySeqStatement = prepared((db) =>
  db
    .select({ id: events.id, type: events.type, data: events.data, createdAt: events.createdAt })
    .from(events)
    .where(eq(events.seq, sql.placeholder("seq")))
    .prepare(),
);

/** The type and envelope of an event; undefined when retention has deleted it, or `seq` is null. */
export async function selectEvent(db: Connection, seq: number | null) {
  const [row] = await bySeqStatement(db).execute({ seq });
  return row && { type: row.type, envelope: envelopeOf(row) };
}

/** The sequence numbers of the events after `after`, up to and including `last` if given, in ascending order. */
export async function selectEventSeqs(
  db: Connection,
  { after, last, limit }: { after: number; last?: number; limit: number },
): Promise<number[]> {
  const rows = await db
    .select({ seq: events.seq })
    .from(events)
    .where(and(gt(events.seq, after), last === undefined ? undefined : lte(events.seq, last)))
    .orderBy(asc(events.seq))
    .limit(limit);
  return rows.map(({ seq }) => seq);
}

/** The sequence number of the newest event; 0 when there is none. */
export async function selectLastEventSeq(db: Connection): Promise<number> {
  const [row] = await db.select({ seq: max(events.seq) }).from(events);
  return row?.seq ?? 0;
}

const newestStatement = query<{ at: number | null }, []>(
  "SELECT max(created_at) AS at FROM (SELECT created_at FROM events ORDER BY seq DESC LIMIT 1000)",
);

/** The latest time among the thousand newest events, in milliseconds since 1970; 0 when there is none. */
export function selectNewestEventTime(db: Connection): number {
  return newestStatement(db).get()?.at ?? 0;
}

const timeBySeqStatement = query<{ createdAt: number }, [number]>(
  "SELECT created_at AS createdAt FROM events WHERE seq = ?",
);

/** When the event happened, in milliseconds since 1970; null when it has been deleted. */
export function selectEventTime(db: Connection, seq: number): number | null {
  return timeBySeqStatement(db).get(seq)?.createdAt ?? null;
}

export async function deleteEvents(tx: Transaction, seqs: number[]): Promise<void> {
  await tx.delete(events).where(inArray(events.seq, seqs));
}

const creatorStatement = prepared((db) =>
  db
    .select({ teamId: subscriptions.teamId, createdBy: subscriptions.createdBy })
    .from(subscriptions)
    .where(eq(subscriptions.id, sql.placeholder("id")))
    .prepare(),
);

/** The subscription's team and creator; undefined when there is no such subscription. */
export const selectCreator = cached((db, id: string) => creatorStatement(db).get({ id }));
