import { and, asc, eq, gt, inArray, isNull, sql } from "drizzle-orm";
import type { Reading, Writing } from "../database/open.ts";
import { parameterOfJoin, prepared } from "../database/prepared.ts";
import { events, jobs, subscriptions } from "../database/schema.ts";

const insert = prepared((db) =>
  db
    .insert(jobs)
    .values({
      subscriptionId: sql.placeholder("subscriptionId"),
      eventId: sql.placeholder("eventId"),
      attempts: 0,
      dueAt: sql.placeholder("dueAt"),
    })
    .prepare(),
);

/** Queues the event for the subscription. `dueAt` is milliseconds since 1970. */
export async function enqueue(
  tx: Writing,
  job: { subscriptionId: string; eventId: string; dueAt: number },
): Promise<void> {
  await insert(tx).execute(job);
}

// Names only what `selectJob` finds: the worker must not be given the same job for ever.
const due = prepared((db) =>
  db
    .select({ seq: jobs.seq, dueAt: jobs.dueAt })
    .from(jobs)
    .innerJoin(events, eq(events.id, jobs.eventId))
    .innerJoin(subscriptions, eq(subscriptions.id, jobs.subscriptionId))
    .where(
      and(
        eq(jobs.subscriptionId, parameterOfJoin("subscriptionId", "text")),
        eq(subscriptions.status, "active"),
        isNull(subscriptions.deletedAt),
      ),
    )
    .orderBy(asc(jobs.dueAt), asc(jobs.seq))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

/** The subscription's next jobs, those due first at the front, at most `limit`; none while it is disabled or deleted. */
export async function selectNextJobs(
  db: Reading,
  subscriptionId: string,
  limit: number,
): Promise<Array<{ seq: number; dueAt: number }>> {
  return await due(db).execute({ subscriptionId, limit });
}

const claimed = prepared((db) =>
  db
    .select({
      seq: jobs.seq,
      attempts: jobs.attempts,
      dueAt: jobs.dueAt,
      eventId: jobs.eventId,
      eventType: events.type,
      envelope: events.envelope,
      subscription: subscriptions,
    })
    .from(jobs)
    .innerJoin(events, eq(events.id, jobs.eventId))
    .innerJoin(subscriptions, eq(subscriptions.id, jobs.subscriptionId))
    .where(eq(jobs.seq, parameterOfJoin("seq", "integer")))
    .prepare(),
);

/** All that an attempt at the job needs, as it is now; undefined when the job is gone. */
export async function selectJob(db: Reading, seq: number) {
  const [row] = await claimed(db).execute({ seq });
  return row;
}

export type ClaimedJob = NonNullable<Awaited<ReturnType<typeof selectJob>>>;

const finish = prepared((db) =>
  db
    .delete(jobs)
    .where(eq(jobs.seq, sql.placeholder("seq")))
    .prepare(),
);

/** Takes the job out of the queue. */
export async function deleteJob(tx: Writing, seq: number): Promise<void> {
  await finish(tx).execute({ seq });
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
