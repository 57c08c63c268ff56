import { and, eq, gt, inArray, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { change, insertInto, prepared, query } from "../database/prepared.ts";
import type { WebhookEvent } from "../events/event-types.ts";
import { selectDestination } from "../subscriptions/store.ts";
import { jobs } from "../database/schema.ts";

const insert = insertInto(jobs);

/** Queues the event for the subscription. `dueAt` is milliseconds since 1970. */
export function enqueue(tx: Writing, job: { subscriptionId: string; eventId: string; dueAt: number }): void {
  insert(tx, { ...job, attempts: 0 });
}

// Names only what `selectJob` finds: the worker must not be given the same job for ever. To a bare parameter SQLite would
// fit the plan of the join anew at each call (see `parameterOfJoin`).
const due = query<{ seq: number; dueAt: number }, [string, number]>(
  `SELECT jobs.seq, jobs.due_at AS dueAt FROM jobs JOIN events ON events.id = jobs.event_id
   WHERE jobs.subscription_id = cast(? AS text) ORDER BY jobs.due_at, jobs.seq LIMIT ?`,
);

/** The subscription's next jobs, those due first at the front, at most `limit`; none while it is disabled or deleted. */
export async function selectNextJobs(
  db: Reading,
  subscriptionId: string,
  limit: number,
): Promise<Array<{ seq: number; dueAt: number }>> {
  if (selectDestination(db, subscriptionId) === undefined) return [];
  return due(db).all(subscriptionId, limit);
}

/** A job with the event that it is for. */
export type QueuedJob = {
  seq: number;
  subscriptionId: string;
  /** How many attempts have been made. */
  attempts: number;
  eventId: string;
  eventType: WebhookEvent;
  envelope: string;
};

const queued = query<QueuedJob, [number]>(
  `SELECT jobs.seq, jobs.subscription_id AS subscriptionId, jobs.attempts, jobs.event_id AS eventId,
     events.type AS eventType, events.envelope
   FROM jobs JOIN events ON events.id = jobs.event_id WHERE jobs.seq = cast(? AS integer)`,
);

/** The job as it is now, or undefined when it is gone. */
export function selectJob(db: Reading, seq: number): QueuedJob | undefined {
  return queued(db).get(seq) ?? undefined;
}

const attemptsMade = query<{ attempts: number }, [number]>("SELECT attempts FROM jobs WHERE seq = ?");

/** How many attempts at the job have been made, or undefined when it is gone. */
export function selectAttemptsMade(tx: Writing, seq: number): number | undefined {
  return attemptsMade(tx).get(seq)?.attempts;
}

const finish = change<[number]>("DELETE FROM jobs WHERE seq = ?");

/** Takes the job out of the queue. */
export function deleteJob(tx: Writing, seq: number): void {
  finish(tx, seq);
}

const postpone = prepared((db) =>
  db
    .update(jobs)
    .set({ attempts: sql`${sql.placeholder("attempts")}`, dueAt: sql`${sql.placeholder("dueAt")}` })
    .where(eq(jobs.seq, sql.placeholder("seq")))
    .prepare(),
);

/** Puts the job back for another attempt at `dueAt`. */
export async function updateJob(tx: Writing, seq: number, attempts: number, dueAt: number): Promise<void> {
  await postpone(tx).execute({ seq, attempts, dueAt });
}

/** Takes at most `limit` jobs of the subscription out of the queue; how many it took. */
export async function deleteJobs(tx: Writing, subscriptionId: string, limit: number): Promise<number> {
  const doomed = tx
    .select({ seq: jobs.seq })
    .from(jobs)
    .where(eq(jobs.subscriptionId, subscriptionId))
    .limit(limit);
  const gone = await tx
    .delete(jobs)
    .where(sql`${jobs.seq} in ${doomed}`)
    .returning({ seq: jobs.seq });
  return gone.length;
}

/** Makes what waits for the subscription due now. */
export async function hastenJobs(tx: Writing, subscriptionId: string, now: number): Promise<void> {
  await tx
    .update(jobs)
    .set({ dueAt: now })
    .where(and(eq(jobs.subscriptionId, subscriptionId), gt(jobs.dueAt, now)));
}

/** Which of the events still wait to go to somebody. */
export async function selectQueuedEventIds(db: Reading, eventIds: string[]): Promise<string[]> {
  const rows = await db
    .selectDistinct({ eventId: jobs.eventId })
    .from(jobs)
    .where(inArray(jobs.eventId, eventIds));
  return rows.map(({ eventId }) => eventId);
}
