import { and, eq, gt, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { change, query } from "../database/prepared.ts";
import { envelopeOf, type StoredEvent } from "../events/envelope.ts";
import type { WebhookEvent } from "../events/event-types.ts";
import { selectDestination } from "../subscriptions/store.ts";
import { jobs } from "../database/schema.ts";

const insert = change<[string, number, number]>(
  "INSERT INTO jobs (subscription_id, due_at, event_seq, attempts) VALUES (?, ?, ?, 0)",
);

/** Queues the event for the subscription. `dueAt` is milliseconds since 1970. */
export function enqueue(tx: Writing, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  insert(tx, subscriptionId, dueAt, eventSeq);
}

/** What a job is known by. */
export type JobKey = { subscriptionId: string; dueAt: number; eventSeq: number };

// Names only what `selectJob` finds: the worker must not be given the same job for ever. To a bare parameter SQLite would
// fit the plan of the join anew at each call (see `parameterOfJoin`).
const due = query<{ dueAt: number; eventSeq: number }, [string, number]>(
  `SELECT jobs.due_at AS dueAt, jobs.event_seq AS eventSeq FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) ORDER BY jobs.due_at, jobs.event_seq LIMIT ?`,
);

/** The subscription's next jobs, those due first at the front, at most `limit`; none while it is disabled or deleted. */
export async function selectNextJobs(
  db: Reading,
  subscriptionId: string,
  limit: number,
): Promise<Array<{ dueAt: number; eventSeq: number }>> {
  if (selectDestination(db, subscriptionId) === undefined) return [];
  return due(db).all(subscriptionId, limit);
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

const queued = query<QueuedRow, KeyValues>(
  `SELECT jobs.attempts, events.id, events.type, events.data, events.created_at AS createdAt
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text) AND jobs.due_at = cast(? AS integer)
     AND jobs.event_seq = cast(? AS integer)`,
);

/** The job as it is now, or undefined when it is gone or due at another time. */
export function selectJob(db: Reading, key: JobKey): QueuedJob | undefined {
  const { subscriptionId, dueAt, eventSeq } = key;
  const found = queued(db).get(subscriptionId, dueAt, eventSeq);
  if (found === null) return undefined;
  const { attempts, id: eventId, type: eventType } = found;
  return { subscriptionId, dueAt, eventSeq, attempts, eventId, eventType, envelope: envelopeOf(found) };
}

const thisJob = "subscription_id = ? AND due_at = ? AND event_seq = ?";

const attemptsMade = query<{ attempts: number }, KeyValues>(`SELECT attempts FROM jobs WHERE ${thisJob}`);

/** How many attempts at the job have been made, or undefined when it is gone. */
export function selectAttemptsMade(
  tx: Writing,
  { subscriptionId, dueAt, eventSeq }: JobKey,
): number | undefined {
  return attemptsMade(tx).get(subscriptionId, dueAt, eventSeq)?.attempts;
}

const finish = change<KeyValues>(`DELETE FROM jobs WHERE ${thisJob}`);

/** Takes the job out of the queue. */
export function deleteJob(tx: Writing, { subscriptionId, dueAt, eventSeq }: JobKey): void {
  finish(tx, subscriptionId, dueAt, eventSeq);
}

const postpone = change<[number, number, ...KeyValues]>(
  `UPDATE jobs SET attempts = ?, due_at = ? WHERE ${thisJob}`,
);

/** Puts the job back for another attempt at `nextAt`. */
export function updateJob(
  tx: Writing,
  { subscriptionId, dueAt, eventSeq }: JobKey,
  attempts: number,
  nextAt: number,
): void {
  postpone(tx, attempts, nextAt, subscriptionId, dueAt, eventSeq);
}

/** Takes at most `limit` jobs of the subscription out of the queue; how many it took. */
export async function deleteJobs(tx: Writing, subscriptionId: string, limit: number): Promise<number> {
  const { subscriptionId: subscription, dueAt, eventSeq } = jobs;
  const doomed = tx
    .select({ subscription, dueAt, eventSeq })
    .from(jobs)
    .where(eq(subscription, subscriptionId))
    .limit(limit);
  const gone = await tx
    .delete(jobs)
    .where(sql`(${subscription}, ${dueAt}, ${eventSeq}) in ${doomed}`)
    .returning({ eventSeq });
  return gone.length;
}

/** Makes what waits for the subscription due now. */
export async function hastenJobs(tx: Writing, subscriptionId: string, now: number): Promise<void> {
  await tx
    .update(jobs)
    .set({ dueAt: now })
    .where(and(eq(jobs.subscriptionId, subscriptionId), gt(jobs.dueAt, now)));
}

/** Where the queue ends: behind every job, because ids are hexadecimal. */
export const endOfQueue: JobKey = { subscriptionId: "~", dueAt: 0, eventSeq: 0 };

const backwards = query<JobKey, [...KeyValues, number]>(
  `SELECT subscription_id AS subscriptionId, due_at AS dueAt, event_seq AS eventSeq FROM jobs
   WHERE (subscription_id, due_at, event_seq) < (?, ?, ?)
   ORDER BY subscription_id DESC, due_at DESC, event_seq DESC LIMIT ?`,
);

/** The jobs before the given place, of all subscriptions, from there towards the front of the queue, at most `limit`. */
export function selectJobsBackwards(db: Reading, before: JobKey, limit: number): JobKey[] {
  return backwards(db).all(before.subscriptionId, before.dueAt, before.eventSeq, limit);
}
