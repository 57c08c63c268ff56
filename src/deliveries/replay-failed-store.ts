import { and, asc, eq, gt, inArray, lte } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import { attempts, events, jobs } from "../database/schema.ts";

/** An attempt of a subscription at an event that is still stored. */
export type AttemptAtEvent = { seq: number; eventSeq: number; succeeded: boolean; createdAt: number };

/** The subscription's attempts between two numbers of the log, oldest first, at most `limit`. */
export async function selectAttemptsForward(
  db: Connection,
  subscriptionId: string,
  { after, upTo }: { after: number; upTo: number },
  limit: number,
): Promise<Array<Omit<AttemptAtEvent, "eventSeq"> & { eventSeq: number | null }>> {
  const { seq, eventSeq, succeeded, createdAt } = attempts;
  return await db
    .select({ seq, eventSeq, succeeded, createdAt })
    .from(attempts)
    .where(and(eq(attempts.subscriptionId, subscriptionId), gt(seq, after), lte(seq, upTo)))
    .orderBy(asc(seq))
    .limit(limit);
}

/** The number of the subscription's last attempt at each of the events, by event; events that are gone are left out. */
export async function selectLastAttempts(
  db: Connection,
  subscriptionId: string,
  eventSeqs: number[],
): Promise<Map<number, number>> {
  const { seq, eventSeq } = attempts;
  const rows = await db
    .select({ seq, eventSeq: events.seq })
    .from(attempts)
    .innerJoin(events, eq(events.seq, eventSeq))
    .where(and(inArray(eventSeq, eventSeqs), eq(attempts.subscriptionId, subscriptionId)));
  const last = new Map<number, number>();
  for (const row of rows) last.set(row.eventSeq, Math.max(row.seq, last.get(row.eventSeq) ?? 0));
  return last;
}

/** Those of the events that wait for the subscription. Reads all of its jobs. */
export async function selectWaitingOf(
  db: Connection,
  subscriptionId: string,
  eventSeqs: number[],
): Promise<Set<number>> {
  const rows = await db
    .select({ eventSeq: jobs.eventSeq })
    .from(jobs)
    .where(and(eq(jobs.subscriptionId, subscriptionId), inArray(jobs.eventSeq, eventSeqs)));
  return new Set(rows.map(({ eventSeq }) => eventSeq));
}

const newestStatement = query<{ seq: number }, [string]>(
  "SELECT seq FROM attempts WHERE subscription_id = ? ORDER BY seq DESC LIMIT 1",
);

/** The number of the subscription's last attempt; 0 if there is none. */
export function selectNewestAttempt(db: Connection, subscriptionId: string): number {
  return newestStatement(db).get(subscriptionId)?.seq ?? 0;
}

const enqueueAgainStatement = change<[string, number, number]>(
  `INSERT INTO jobs (subscription_id, due_at, event_seq, attempts) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING`,
);

/** Queues the event for the subscription once more, due at that time, unless it is queued for that time already. */
export function enqueueAgain(tx: Transaction, subscriptionId: string, dueAt: number, eventSeq: number): void {
  enqueueAgainStatement(tx, subscriptionId, dueAt, eventSeq);
}
