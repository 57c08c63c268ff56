import { and, desc, eq, gt, inArray, lt } from "drizzle-orm";
import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import { attempts, subscriptions } from "../database/schema.ts";
import type { PartOfId } from "../input/reference.ts";

/** An attempt as lists show it: without what was received. */
const columns = {
  seq: attempts.seq,
  id: attempts.id,
  subscriptionId: attempts.subscriptionId,
  eventId: attempts.eventId,
  eventType: attempts.eventType,
  succeeded: attempts.succeeded,
  isReplay: attempts.isReplay,
  responseStatus: attempts.responseStatus,
  error: attempts.error,
  durationMs: attempts.durationMs,
  createdAt: attempts.createdAt,
  eventSeq: attempts.eventSeq,
};

export type LoggedAttempt = Awaited<ReturnType<typeof selectAttemptsBack>>[number];

/** Returns the attempts of the workspace, or of one subscription, between two numbers of the log, newest first. */
export async function selectAttemptsBack(
  db: Connection,
  { subscriptionId, before, after }: { subscriptionId: string | undefined; before: number; after: number },
  limit: number,
) {
  return await db
    .select(columns)
    .from(attempts)
    .where(
      and(
        subscriptionId === undefined ? undefined : eq(attempts.subscriptionId, subscriptionId),
        lt(attempts.seq, before),
        gt(attempts.seq, after),
      ),
    )
    .orderBy(desc(attempts.seq))
    .limit(limit);
}

/** Returns the attempts at the event, oldest first. */
export async function selectAttemptsOfEvent(db: Connection, eventSeq: number): Promise<LoggedAttempt[]> {
  const rows = await db.select(columns).from(attempts).where(eq(attempts.eventSeq, eventSeq));
  return rows.sort((a, b) => a.seq - b.seq);
}

/** Returns which attempts belong to these events, replays left out, in the order of the log. */
export async function selectAttemptsOfEvents(db: Connection, eventSeqs: number[]) {
  return await db
    .select({
      seq: attempts.seq,
      eventSeq: attempts.eventSeq,
      subscriptionId: attempts.subscriptionId,
      succeeded: attempts.succeeded,
    })
    .from(attempts)
    .where(and(inArray(attempts.eventSeq, eventSeqs), eq(attempts.isReplay, false)));
}

/** Returns the names of those of these subscriptions that belong to the team, deleted ones included. */
export async function selectNamesOfSubscriptions(
  db: Connection,
  teamId: string,
  ids: string[],
): Promise<Array<{ id: string; name: string }>> {
  return await db
    .select({ id: subscriptions.id, name: subscriptions.name })
    .from(subscriptions)
    .where(and(inArray(subscriptions.id, ids), eq(subscriptions.teamId, teamId)));
}

const numberAtStatement = query<{ seq: number }, [number]>(
  "SELECT seq FROM attempts WHERE created_at <= ? ORDER BY created_at DESC LIMIT 1",
);

/** The number of the attempt that ended last by the time, in milliseconds since 1970; 0 if none had. */
export function selectAttemptNumberAt(db: Connection, at: number): number {
  return numberAtStatement(db).get(at)?.seq ?? 0;
}

/** How many of the newest attempts are searched for one whose id ends with given digits. */
const searchedMax = 100_000;

type Found = { id: string };

// `g` comes after every digit and hyphen.
const startStatement = query<Found, [string, string, string, number]>(
  `SELECT attempts.id
   FROM attempts JOIN subscriptions ON subscriptions.id = attempts.subscription_id
   WHERE attempts.id >= cast(? AS text) AND attempts.id < cast(? AS text) || 'g'
     AND subscriptions.team_id = cast(? AS text)
   ORDER BY attempts.id DESC LIMIT ?`,
);

const endStatement = query<Found, [number, string, string, number]>(
  `SELECT newest.id
   FROM (SELECT id FROM attempts ORDER BY id DESC LIMIT ?) AS newest
   JOIN attempts ON attempts.id = newest.id
   JOIN subscriptions ON subscriptions.id = attempts.subscription_id
   WHERE newest.id LIKE '%' || cast(? AS text) AND subscriptions.team_id = cast(? AS text) LIMIT ?`,
);

/**
 * Returns the ids of the team's attempts that begin with the part, or among the newest 100,000 end with it, at most
 * `limit` of each, newest first. Reads a range of an index.
 */
export function selectAttemptIds(
  db: Connection,
  teamId: string,
  { start, end }: PartOfId,
  limit: number,
): Array<{ id: string }> {
  const begin = startStatement(db).all(start, start, teamId, limit);
  const ending = endStatement(db).all(searchedMax, end, teamId, limit);
  return [...new Map([...begin, ...ending].map(({ id }) => [id, { id }])).values()];
}
