import { and, eq, lt, sql, type SQL } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import { envelopeOf, type StoredEvent } from "./envelope.ts";
import type { WebhookEvent } from "../event-types.ts";
import { jobs } from "../database/schema.ts";

const insertStatement = change<[string, number, number]>(
  "INSERT INTO jobs (subscription_id, due_at, event_seq, attempts) VALUES (?, ?, ?, 0)",
);

/** Queues the event for the subscription. `dueAt` is milliseconds since 1970. */
export function enqueue(tx: Transaction, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  insertStatement(tx, subscriptionId, dueAt, eventSeq);
}

/** What a job is known by. */
export type JobKey = { subscriptionId: string; dueAt: number; eventSeq: number };

// Names only what `selectJob` finds: the worker must not be given the same job for ever. To a bare parameter SQLite would
// fit the plan of the join anew at each call (see `parameterOfJoin`).
const dueStatement = query<{ dueAt: number; eventSeq: number }, [string, number]>(
  `SELECT jobs.due_at AS dueAt, jobs.event_seq AS eventSeq FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) ORDER BY jobs.due_at, jobs.event_seq LIMIT ?`,
);

/** The subscription's next jobs, those due first at the front, at most `limit`. */
export async function selectNextJobs(
  db: Connection,
  subscriptionId: string,
  limit: number,
): Promise<Array<{ dueAt: number; eventSeq: number }>> {
  return dueStatement(db).all(subscriptionId, limit);
}

/** A job with the event that it is for. */
export type QueuedJob = JobKey & {
  /** How many attempts have been made. */
  attempts: number;
  eventId: string;
  eventType: WebhookEvent;
  envelope: string;
};

type KeyValues = [string, number, number];
type QueuedRow = StoredEvent & { type: WebhookEvent; attempts: number };

const queuedStatement = query<QueuedRow, KeyValues>(
  `SELECT jobs.attempts, events.id, events.type, events.data, events.created_at AS createdAt
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) AND jobs.due_at = cast(? AS integer)
     AND jobs.event_seq = cast(? AS integer)`,
);

/** The job as it is now, or undefined when it is gone or due at another time. */
export function selectJob(db: Connection, key: JobKey): QueuedJob | undefined {
  const { subscriptionId, dueAt, eventSeq } = key;
  const found = queuedStatement(db).get(subscriptionId, dueAt, eventSeq);
  if (found === null) return undefined;
  const { attempts, id: eventId, type: eventType } = found;
  return { subscriptionId, dueAt, eventSeq, attempts, eventId, eventType, envelope: envelopeOf(found) };
}

const thisJob = "subscription_id = ? AND due_at = ? AND event_seq = ?";

const attemptsMadeStatement = query<{ attempts: number }, KeyValues>(
  `SELECT attempts FROM jobs WHERE ${thisJob}`,
);

/** How many attempts at the job have been made, or undefined when it is gone. */
export function selectAttemptsMade(
  tx: Transaction,
  { subscriptionId, dueAt, eventSeq }: JobKey,
): number | undefined {
  return attemptsMadeStatement(tx).get(subscriptionId, dueAt, eventSeq)?.attempts;
}

const finishStatement = change<KeyValues>(`DELETE FROM jobs WHERE ${thisJob}`);

/** Takes the job out of the queue. */
export function deleteJob(tx: Transaction, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  finishStatement(tx, subscriptionId, dueAt, eventSeq);
}

const postponeStatement = change<[number, number, ...KeyValues]>(
  `UPDATE jobs SET attempts = ?, due_at = ? WHERE ${thisJob}`,
);

/** Puts the job back for another attempt at `nextAt`. */
export function updateJob(
  tx: Transaction,
  { subscriptionId, dueAt, eventSeq }: JobKey,
  attempts: number,
  nextAt: number,
): void {
  postponeStatement(tx, attempts, nextAt, subscriptionId, dueAt, eventSeq);
}

/** Takes at most `limit` jobs of the subscription out of the queue; how many it took. */
export async function deleteJobs(tx: Transaction, subscriptionId: string, limit: number): Promise<number> {
  return await deleteJobsWhere(tx, eq(jobs.subscriptionId, subscriptionId), limit);
}

/** Takes at most `limit` jobs of the subscription that were due before the time out of the queue; how many it took. */
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

async function deleteJobsWhere(tx: Transaction, which: SQL | undefined, limit: number): Promise<number> {
  const { subscriptionId, dueAt, eventSeq } = jobs;
  const doomed = tx.select({ subscriptionId, dueAt, eventSeq }).from(jobs).where(which).limit(limit);
  const gone = await tx
    .delete(jobs)
    .where(sql`(${subscriptionId}, ${dueAt}, ${eventSeq}) in ${doomed}`)
    .returning({ eventSeq });
  return gone.length;
}

/** How many events, and the number of the oldest among them, 0 where there is none. */
export type Waiting = { count: number; oldest: number };

const waitingStatement = query<Waiting, [string]>(
  "SELECT count(*) AS count, coalesce(min(event_seq), 0) AS oldest FROM jobs WHERE subscription_id = ?",
);

/** What is queued for the subscription. Reads it all. */
export function selectWaiting(db: Connection, subscriptionId: string): Waiting {
  return waitingStatement(db).get(subscriptionId) ?? { count: 0, oldest: 0 };
}

/** A job, and when its event happened. */
export type DatedJob = { dueAt: number; eventSeq: number; happenedAt: number };

const datedStatement = query<DatedJob, [string, number, number, number]>(
  `SELECT jobs.due_at AS dueAt, jobs.event_seq AS eventSeq, events.created_at AS happenedAt
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) AND (jobs.due_at, jobs.event_seq) > (?, ?)
   ORDER BY jobs.due_at, jobs.event_seq LIMIT ?`,
);

/** The subscription's jobs after the given place in the queue, at most `limit`. */
export function selectJobsAfter(
  db: Connection,
  subscriptionId: string,
  after: { dueAt: number; eventSeq: number },
  limit: number,
): DatedJob[] {
  return datedStatement(db).all(subscriptionId, after.dueAt, after.eventSeq, limit);
}

const hastenStatement = change<[number, ...KeyValues]>(`UPDATE jobs SET due_at = ? WHERE ${thisJob}`);

/** Makes the job due since its event happened, which puts it in the order of the events. */
export function makeJobDue(tx: Transaction, subscriptionId: string, job: DatedJob): void {
  hastenStatement(tx, job.happenedAt, subscriptionId, job.dueAt, job.eventSeq);
}

/** Where the queue ends: behind every job, because ids are hexadecimal. */
export const endOfQueue: JobKey = { subscriptionId: "~", dueAt: 0, eventSeq: 0 };

const backwardsStatement = query<JobKey, [...KeyValues, number]>(
  `SELECT subscription_id AS subscriptionId, due_at AS dueAt, event_seq AS eventSeq FROM jobs
   WHERE (subscription_id, due_at, event_seq) < (?, ?, ?)
   ORDER BY subscription_id DESC, due_at DESC, event_seq DESC LIMIT ?`,
);

/** The jobs before the given place, of all subscriptions, from there towards the front of the queue, at most `limit`. */
export function selectJobsBackwards(db: Connection, before: JobKey, limit: number): JobKey[] {
  return backwardsStatement(db).all(before.subscriptionId, before.dueAt, before.eventSeq, limit);
}

const aheadStatement = query<{ aheadMs: number }, []>("SELECT ahead_ms AS aheadMs FROM queue_clock");

/** How far the time by which jobs are due was last known to be ahead of the machine's clock, in milliseconds. */
export function selectAhead(db: Connection): number {
  return aheadStatement(db).get()?.aheadMs ?? 0;
}

const keepAheadStatement = change<[number]>("UPDATE queue_clock SET ahead_ms = ?");

/** Keeps how far it is ahead. */
export function updateAhead(tx: Transaction, aheadMs: number): void {
  keepAheadStatement(tx, aheadMs);
}
