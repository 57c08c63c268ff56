import { and, eq, lt, sql, type SQL } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import { envelopeOf, type StoredEvent } from "./envelope.ts";
import type { WebhookEvent } from "../event-types.ts";
import { jobs } from "../database/schema.ts";

const insertStatement = change<[string, number, number]>(
  "INSERT INTO jobs (subscription_id, due_at, event_seq, attempts) VALUES (?, ?, ?, 0)",
);

/** Queues the event for the subscription. `dueAt` is in milliseconds since 1970. */
export function enqueue(tx: Transaction, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  insertStatement(tx, subscriptionId, dueAt, eventSeq);
}

/** The key of a job. */
export type JobKey = { subscriptionId: string; dueAt: number; eventSeq: number };

// Returns only jobs that `selectJob` finds, or the worker would be given the same job forever. The cast keeps SQLite
// from planning the join again for each call (see `parameterOfJoin`).
const dueStatement = query<{ dueAt: number; eventSeq: number }, [string, number]>(
  `SELECT jobs.due_at AS "dueAt", jobs.event_seq AS "eventSeq" FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text)
   ORDER BY jobs.due_at, jobs.event_seq LIMIT cast(? AS bigint)`,
);

/** The subscription's next jobs in order of `dueAt`, at most `limit`. */
export function selectNextJobs(
  db: Connection,
  subscriptionId: string,
  limit: number,
): Array<{ dueAt: number; eventSeq: number }> {
  return dueStatement(db).all(subscriptionId, limit);
}

/** A job with its event. */
export type QueuedJob = JobKey & {
  /** The number of attempts made. */
  attempts: number;
  eventId: string;
  eventType: WebhookEvent;
  envelope: string;
  /** What the event was stored with; null while traces were off. */
  traceparent: string | null;
};

type KeyValues = [string, number, number];
type QueuedRow = StoredEvent & { type: WebhookEvent; attempts: number; traceparent: string | null };

const queuedStatement = query<QueuedRow, KeyValues>(
  `SELECT jobs.attempts, events.id, events.type, events.data, events.created_at AS "createdAt",
     events.traceparent
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) AND jobs.due_at = cast(? AS bigint)
     AND jobs.event_seq = cast(? AS bigint)`,
);

/** The job's current state; undefined when it is gone or has another due time. */
export function selectJob(db: Connection, key: JobKey): QueuedJob | undefined {
  const { subscriptionId, dueAt, eventSeq } = key;
  const found = queuedStatement(db).get(subscriptionId, dueAt, eventSeq);
  return found === null ? undefined : queuedJob(key, found);
}

const nextQueuedStatement = query<QueuedRow & Omit<JobKey, "subscriptionId">, [string, number]>(
  `SELECT jobs.due_at AS "dueAt", jobs.event_seq AS "eventSeq", jobs.attempts, events.id, events.type, events.data,
     events.created_at AS "createdAt", events.traceparent
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text)
   ORDER BY jobs.due_at, jobs.event_seq LIMIT cast(? AS bigint)`,
);

/** As `selectNextJobs`, with the events: for a database where another look-up would be another round trip. */
export function selectNextQueuedJobs(db: Connection, subscriptionId: string, limit: number): QueuedJob[] {
  return nextQueuedStatement(db)
    .all(subscriptionId, limit)
    .map((row) => queuedJob({ ...row, subscriptionId }, row));
}

const byEventStatement = query<QueuedRow & Omit<JobKey, "subscriptionId">, [string, number]>(
  `SELECT first.due_at AS "dueAt", first.event_seq AS "eventSeq", first.attempts, events.id, events.type, events.data,
     events.created_at AS "createdAt", events.traceparent
   FROM (
     SELECT due_at, event_seq, attempts FROM jobs WHERE subscription_id = cast(? AS text)
     ORDER BY event_seq LIMIT cast(? AS bigint)
   ) AS first JOIN events ON events.seq = first.event_seq ORDER BY first.event_seq`,
);

/**
 * The subscription's jobs in the order of their events, at most `limit`. Looks at all of its jobs, which have no index
 * for that, so it is for commands.
 */
export function selectQueuedJobsByEvent(db: Connection, subscriptionId: string, limit: number): QueuedJob[] {
  return byEventStatement(db)
    .all(subscriptionId, limit)
    .map((row) => queuedJob({ ...row, subscriptionId }, row));
}

function queuedJob({ subscriptionId, dueAt, eventSeq }: JobKey, row: QueuedRow): QueuedJob {
  const { attempts, id: eventId, type: eventType, traceparent } = row;
  return {
    subscriptionId,
    dueAt,
    eventSeq,
    attempts,
    eventId,
    eventType,
    envelope: envelopeOf(row),
    traceparent,
  };
}

const thisJob = "subscription_id = ? AND due_at = ? AND event_seq = ?";

const deleteStatement = change<KeyValues>(`DELETE FROM jobs WHERE ${thisJob}`);

/** Deletes the job. */
export function deleteJob(tx: Transaction, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  deleteStatement(tx, subscriptionId, dueAt, eventSeq);
}

/** Deletes at most `limit` jobs of the subscription and returns how many it deleted. */
export async function deleteJobs(tx: Transaction, subscriptionId: string, limit: number): Promise<number> {
  return await deleteJobsWhere(tx, eq(jobs.subscriptionId, subscriptionId), limit);
}

/** Deletes at most `limit` jobs of the subscription that were due before `before` and returns how many it deleted. */
export async function deleteJobsBefore(
  tx: Transaction,
  subscriptionId: string,
  before: number,
  limit: number,
): Promise<number> {
  return await deleteJobsWhere(
    tx,
    and(eq(jobs.subscriptionId, subscriptionId), lt(jobs.dueAt, before)),
    limit,
  );
}

async function deleteJobsWhere(tx: Transaction, condition: SQL | undefined, limit: number): Promise<number> {
  const { subscriptionId, dueAt, eventSeq } = jobs;
  const selected = tx
    .select({ subscriptionId, dueAt, eventSeq })
    .from(jobs)
    .where(condition)
    .orderBy(dueAt, eventSeq)
    .limit(limit);
  const deleted = await tx
    .delete(jobs)
    .where(sql`(${subscriptionId}, ${dueAt}, ${eventSeq}) in ${selected}`)
    .returning({ eventSeq });
  return deleted.length;
}

/** The number of events, and the sequence number of the oldest; 0 when there is none. */
export type Waiting = { count: number; oldest: number };

const waitingStatement = query<Waiting, [string]>(
  "SELECT count(*) AS count, coalesce(min(event_seq), 0) AS oldest FROM jobs WHERE subscription_id = ?",
);

/** The jobs queued for the subscription. Reads all of them. */
export function selectWaiting(db: Connection, subscriptionId: string): Waiting {
  return waitingStatement(db).get(subscriptionId) ?? { count: 0, oldest: 0 };
}

const firstWaitingStatement = query<Waiting, [string, number]>(
  `SELECT count(*) AS count, coalesce(min(event_seq), 0) AS oldest
   FROM (SELECT event_seq FROM jobs WHERE subscription_id = ? ORDER BY due_at, event_seq LIMIT ?) AS first`,
);

/** The subscription's jobs that are due first, at most `limit`: their number, and the oldest event among them. */
export function selectFirstWaiting(db: Connection, subscriptionId: string, limit: number): Waiting {
  return firstWaitingStatement(db).get(subscriptionId, limit) ?? { count: 0, oldest: 0 };
}

const countStatement = query<
  { count: number; upTo: number | null },
  [string, number, string, number, number]
>(
  `SELECT count(*) AS count, max(due_at) AS "upTo" FROM jobs WHERE subscription_id = ? AND due_at > ? AND due_at <=
     (SELECT max(due_at) FROM
       (SELECT due_at FROM jobs WHERE subscription_id = ? AND due_at > ? ORDER BY due_at LIMIT ?) AS page)`,
);

/**
 * Counts the subscription's next jobs that are due after `afterDueAt`: at least `atLeast` if there are as many, and all
 * that are due in the same millisecond as the last. `upTo` is when that one is due. Reads each job twice.
 */
export function selectJobCount(
  db: Connection,
  subscriptionId: string,
  afterDueAt: number,
  atLeast: number,
): { count: number; upTo: number } {
  const row = countStatement(db).get(subscriptionId, afterDueAt, subscriptionId, afterDueAt, atLeast);
  return { count: row?.count ?? 0, upTo: row?.upTo ?? afterDueAt };
}

/** A job with the time of its event. */
export type DatedJob = { dueAt: number; eventSeq: number; happenedAt: number };

const datedStatement = query<DatedJob, [string, number, number, number]>(
  `SELECT jobs.due_at AS "dueAt", jobs.event_seq AS "eventSeq", events.created_at AS "happenedAt"
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) AND (jobs.due_at, jobs.event_seq) > (?, ?)
   ORDER BY jobs.due_at, jobs.event_seq LIMIT ?`,
);

/** The subscription's jobs after the given position in the queue, at most `limit`. */
export function selectJobsAfter(
  db: Connection,
  subscriptionId: string,
  after: { dueAt: number; eventSeq: number },
  limit: number,
): DatedJob[] {
  return datedStatement(db).all(subscriptionId, after.dueAt, after.eventSeq, limit);
}

const makeDueStatement = change<[number, ...KeyValues]>(`UPDATE jobs SET due_at = ? WHERE ${thisJob}`);

/** Makes the job due at the time of its event, so that jobs are sent in the order of the events. */
export function makeJobDue(tx: Transaction, subscriptionId: string, job: DatedJob): void {
  makeDueStatement(tx, job.happenedAt, subscriptionId, job.dueAt, job.eventSeq);
}

/** A key after every job: ids are hexadecimal. */
export const endOfQueue: JobKey = { subscriptionId: "~", dueAt: 0, eventSeq: 0 };

const backwardsStatement = query<JobKey, [...KeyValues, number]>(
  `SELECT subscription_id AS "subscriptionId", due_at AS "dueAt", event_seq AS "eventSeq" FROM jobs
   WHERE (subscription_id, due_at, event_seq) < (?, ?, ?)
   ORDER BY subscription_id DESC, due_at DESC, event_seq DESC LIMIT ?`,
);

/** The jobs of all subscriptions before the given key, backwards from there, at most `limit`. */
export function selectJobsBackwards(db: Connection, before: JobKey, limit: number): JobKey[] {
  return backwardsStatement(db).all(before.subscriptionId, before.dueAt, before.eventSeq, limit);
}

const aheadStatement = query<{ aheadMs: number }, []>('SELECT ahead_ms AS "aheadMs" FROM queue_clock');

/** How far the queue's clock was last known to be ahead of the system clock, in milliseconds. */
export function selectAhead(db: Connection): number {
  return aheadStatement(db).get()?.aheadMs ?? 0;
}
