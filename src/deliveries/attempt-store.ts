import { and, desc, eq, inArray, lt, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared, query } from "../database/prepared.ts";
import { attempts, subscriptions } from "../database/schema.ts";
import { insertInto } from "../database/table-sql.ts";

export type AttemptRow = typeof attempts.$inferSelect;

const insertStatement = insertInto(attempts, { unless: "id" });

/**
 * Adds an attempt to the delivery log and returns its number, which is greater than that of every earlier one; 0 when it
 * is in the log already.
 */
export function insertAttempt(tx: Transaction, row: Omit<AttemptRow, "seq">): number {
  return insertStatement(tx, row);
}

const knownStatement = query<unknown, [string]>("SELECT 1 FROM attempts WHERE id = ?");

/** Whether the attempt is in the delivery log. */
export function isLogged(db: Connection, id: string): boolean {
  return knownStatement(db).get(id) !== null;
}

const latestStatement = prepared((db) =>
  db
    .select()
    .from(attempts)
    .where(eq(attempts.subscriptionId, sql.placeholder("subscriptionId")))
    .orderBy(desc(attempts.seq))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

/** Returns the subscription's latest attempts, newest first. */
export async function selectLatestAttempts(
  db: Connection,
  subscriptionId: string,
  limit: number,
): Promise<AttemptRow[]> {
  return await latestStatement(db).execute({ subscriptionId, limit });
}

const pageStatement = prepared((db) =>
  db
    .select()
    .from(attempts)
    .where(
      and(
        eq(attempts.subscriptionId, sql.placeholder("subscriptionId")),
        lt(attempts.seq, sql.placeholder("before")),
      ),
    )
    .orderBy(desc(attempts.seq))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

/** Returns the subscription's attempts with a number below `before`, newest first. */
export async function selectAttemptsOf(
  db: Connection,
  subscriptionId: string,
  { before, limit }: { before: number; limit: number },
): Promise<AttemptRow[]> {
  return await pageStatement(db).execute({ subscriptionId, before, limit });
}

const asOfStatement = query<{ at: number; succeeded: number }, [string, number]>(
  // The sum keeps the index by age out, in which the attempts of all subscriptions are.
  `SELECT created_at AS at, succeeded FROM attempts
   WHERE subscription_id = ? AND is_replay = 0 AND created_at + 0 <= ? ORDER BY seq DESC LIMIT 1`,
);

/** The subscription's last attempt up to the time, in milliseconds since 1970, replays left out. */
export function selectAttemptAsOf(
  db: Connection,
  subscriptionId: string,
  at: number,
): { at: number; hasFailed: boolean } | undefined {
  const row = asOfStatement(db).get(subscriptionId, at);
  return row ? { at: row.at, hasFailed: row.succeeded === 0 } : undefined;
}

/** Returns the attempt with its subscription; undefined when the team has no such attempt. */
export async function selectAttempt(db: Connection, teamId: string, id: string) {
  const [row] = await db
    .select({ attempt: attempts, subscription: subscriptions })
    .from(attempts)
    .innerJoin(subscriptions, eq(subscriptions.id, attempts.subscriptionId))
    .where(and(eq(attempts.id, id), eq(subscriptions.teamId, teamId)));
  return row;
}

const newestTimeStatement = query<{ at: number | null }, []>("SELECT max(created_at) AS at FROM attempts");

/** Returns the latest time of any logged attempt, in milliseconds since 1970; 0 if there is none. */
export function selectNewestAttemptTime(db: Connection): number {
  return newestTimeStatement(db).get()?.at ?? 0;
}

const loggedStatement = query<{ logged: number }, []>({
  sqlite: "SELECT seq AS logged FROM sqlite_sequence WHERE name = 'attempts'",
  postgres: "SELECT last_value AS logged FROM attempts_seq_seq WHERE is_called",
});

/** The number of attempts ever logged; also those count that are deleted by now. Reads one row. */
export function selectAttemptsLogged(db: Connection): number {
  return loggedStatement(db).get()?.logged ?? 0;
}

/** Deletes at most `limit` attempts made before the time, in milliseconds since 1970. Returns how many. */
export async function deleteAttemptsBefore(tx: Transaction, before: number, limit: number): Promise<number> {
  const doomed = tx
    .select({ seq: attempts.seq })
    .from(attempts)
    .where(lt(attempts.createdAt, before))
    .orderBy(attempts.createdAt)
    .limit(limit);
  const gone = await tx
    .delete(attempts)
    .where(sql`${attempts.seq} in ${doomed}`)
    .returning({ seq: attempts.seq });
  return gone.length;
}

/** Returns those of the events that a logged attempt still refers to. */
export async function selectLoggedEvents(db: Connection, eventSeqs: number[]): Promise<Array<number | null>> {
  const rows = await db
    .selectDistinct({ eventSeq: attempts.eventSeq })
    .from(attempts)
    .where(inArray(attempts.eventSeq, eventSeqs));
  return rows.map(({ eventSeq }) => eventSeq);
}
