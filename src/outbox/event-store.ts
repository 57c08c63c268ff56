import { and, asc, eq, gt, inArray, lt, lte, max, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared, query } from "../database/prepared.ts";
import { cached } from "../database/cached.ts";
import { deletedEvents, events, subscriptionFilters, subscriptions } from "../database/schema.ts";
import { insertInto } from "../database/table-sql.ts";
import { envelopeOf } from "./envelope.ts";

/** An event that matches more subscriptions is queued for them after its own commit, as a fan-out. */
const queuedWithEventMax = 100;

const matchingStatement = prepared((db) =>
  db
    .select({ id: subscriptionFilters.subscriptionId, isOnlyRead: subscriptionFilters.isOnlyRead })
    .from(subscriptionFilters)
    .where(
      and(
        eq(subscriptionFilters.teamId, sql.placeholder("teamId")),
        eq(subscriptionFilters.eventType, sql.placeholder("type")),
        // The empty string stands for every channel.
        sql`${subscriptionFilters.channelId} IN ('', ${sql.placeholder("channelId")})`,
      ),
    )
    .limit(queuedWithEventMax + 1)
    .prepare(),
);

/** The ids of the subscriptions that an event matches. */
export type Matching = {
  /** Those that it is sent to. Disabled ones are included: their events wait until they are enabled. */
  sentTo: readonly string[];
  /** Those without a URL, whose events are only read. */
  readBy: readonly string[];
  /** Whether there are more than `queuedWithEventMax`, of which only the first are listed. */
  isForMany: boolean;
};

/** Returns the subscriptions that match events of the type in the channel. */
export const selectMatchingSubscriptions = cached(
  (db, teamId: string, type: string, channelId: string): Matching => {
    const rows = matchingStatement(db).all({ teamId, type, channelId });
    const idsOf = (found: typeof rows) => found.map(({ id }) => id);
    return {
      sentTo: idsOf(rows.filter(({ isOnlyRead }) => !isOnlyRead)),
      readBy: idsOf(rows.filter(({ isOnlyRead }) => isOnlyRead)),
      isForMany: rows.length > queuedWithEventMax,
    };
  },
);

const insertStatement = insertInto(events);

/** Stores the event and returns its sequence number. */
export function insertEvent(tx: Transaction, row: Omit<typeof events.$inferSelect, "seq">): number {
  return insertStatement(tx, row);
}

const eventBySeqStatement = prepared((db) =>
  db
    .select({
      id: events.id,
      type: events.type,
      data: events.data,
      createdAt: events.createdAt,
      traceparent: events.traceparent,
    })
    .from(events)
    .where(eq(events.seq, sql.placeholder("seq")))
    .prepare(),
);

/**
 * Returns the event's type, its envelope as it is sent and its traceparent; undefined once retention has deleted the
 * event, or when `seq` is null.
 */
export async function selectEvent(db: Connection, seq: number | null) {
  const [row] = await eventBySeqStatement(db).execute({ seq });
  return row && { type: row.type, envelope: envelopeOf(row), traceparent: row.traceparent };
}

/** Returns the numbers of the events after `after`, up to `last` inclusive, in ascending order, at most `limit`. */
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

/** Returns those of the events that happened before the time, in milliseconds since 1970. */
export async function selectEventsBefore(
  db: Connection,
  seqs: readonly number[],
  before: number,
): Promise<number[]> {
  if (seqs.length === 0) return [];
  const rows = await db
    .select({ seq: events.seq })
    .from(events)
    .where(and(inArray(events.seq, seqs), lt(events.createdAt, before)));
  return rows.map(({ seq }) => seq);
}

/** Returns the number of the newest event; 0 if there is none. */
export async function selectLastEventSeq(db: Connection): Promise<number> {
  const [row] = await db.select({ seq: max(events.seq) }).from(events);
  return row?.seq ?? 0;
}

const newestStatement = query<{ at: number | null }, []>(
  "SELECT max(created_at) AS at FROM (SELECT created_at FROM events ORDER BY seq DESC LIMIT 1000) AS newest",
);

/** Returns the latest time of the thousand newest events, in milliseconds since 1970; 0 if there is none. */
export function selectNewestEventTime(db: Connection): number {
  return newestStatement(db).get()?.at ?? 0;
}

const timeBySeqStatement = query<{ createdAt: number }, [number]>(
  'SELECT created_at AS "createdAt" FROM events WHERE seq = ?',
);

/** Returns when the event happened, in milliseconds since 1970; null once it is deleted. */
export function selectEventTime(db: Connection, seq: number): number | null {
  return timeBySeqStatement(db).get(seq)?.createdAt ?? null;
}

/** Deletes the events, and notes the newest of them. No job and no attempt may refer to them. */
export async function deleteEvents(tx: Transaction, seqs: number[]): Promise<void> {
  if (seqs.length === 0) return;
  const newest = Math.max(...seqs);
  const [row] = await tx.select({ id: events.id }).from(events).where(eq(events.seq, newest));
  await tx.delete(events).where(inArray(events.seq, seqs));
  await tx
    .update(deletedEvents)
    .set({ lastSeq: newest, lastId: row?.id ?? "" })
    .where(lt(deletedEvents.lastSeq, newest));
}

const creatorStatement = prepared((db) =>
  db
    .select({ teamId: subscriptions.teamId, createdBy: subscriptions.createdBy })
    .from(subscriptions)
    .where(eq(subscriptions.id, sql.placeholder("id")))
    .prepare(),
);

/** Returns the subscription's team and creator; undefined when there is no such subscription. */
export const selectCreator = cached((db, id: string) => creatorStatement(db).get({ id }));
