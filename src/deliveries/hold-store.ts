import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";

/** What is known of the copies of this workspace: `copyId` is null until a server that writes markers has started. */
export type CopyRow = { copyId: string | null; accepted: string | null };

const copyStatement = query<CopyRow, []>(
  'SELECT copy_id AS "copyId", accepted FROM delivery_copy WHERE id = 1',
);

/** Which copy this database is. */
export function selectCopy(db: Connection): CopyRow {
  return copyStatement(db).get() ?? { copyId: null, accepted: null };
}

const updateCopyStatement = change<[string | null, string | null]>(
  "UPDATE delivery_copy SET copy_id = ?, accepted = ? WHERE id = 1",
);

export function updateCopy(tx: Transaction, { copyId, accepted }: CopyRow): void {
  updateCopyStatement(tx, copyId, accepted);
}

/** A hold as it is stored; `since` is in milliseconds since 1970, `lastEvent` the number of the newest event then. */
export type HoldRow = {
  since: number;
  kind: "older_copy" | "foreign_copy";
  reason: string;
  lastEvent: number;
  markers: string;
};

const holdStatement = query<HoldRow, []>(
  'SELECT since, kind, reason, last_event AS "lastEvent", markers FROM delivery_hold WHERE id = 1',
);

/** The hold; undefined when deliveries are not held. */
export function selectHold(db: Connection): HoldRow | undefined {
  return holdStatement(db).get() ?? undefined;
}

const insertHoldStatement = change<[number, string, string, number, string]>(
  "INSERT INTO delivery_hold (id, since, kind, reason, last_event, markers) VALUES (1, ?, ?, ?, ?, ?)",
);

export function insertHold(tx: Transaction, { since, kind, reason, lastEvent, markers }: HoldRow): void {
  insertHoldStatement(tx, since, kind, reason, lastEvent, markers);
}

const deleteHoldStatement = change<[]>("DELETE FROM delivery_hold");
const deleteExceptionsStatement = change<[]>("DELETE FROM delivery_hold_exceptions");

/** Ends the hold, with its exceptions. */
export function deleteHold(tx: Transaction): void {
  deleteHoldStatement(tx);
  deleteExceptionsStatement(tx);
}

const exceptionsStatement = query<{ id: string }, []>(
  "SELECT subscription_id AS id FROM delivery_hold_exceptions",
);

/** The subscriptions that are delivered to in spite of the hold. */
export function selectHoldExceptions(db: Connection): Set<string> {
  return new Set(
    exceptionsStatement(db)
      .all()
      .map(({ id }) => id),
  );
}

const insertExceptionStatement = change<[string]>(
  "INSERT INTO delivery_hold_exceptions (subscription_id) VALUES (?) ON CONFLICT DO NOTHING",
);

export function insertHoldException(tx: Transaction, subscriptionId: string): void {
  insertExceptionStatement(tx, subscriptionId);
}

/**
 * The last number that the table gave. PostgreSQL's sequence may be ahead after a crash, so it only stands in for rows
 * that are all deleted.
 */
const lastNumberOf = (table: "attempts" | "events") =>
  query<{ seq: number }, []>({
    sqlite: `SELECT seq FROM sqlite_sequence WHERE name = '${table}'`,
    postgres: `SELECT coalesce((SELECT max(seq) FROM ${table}), last_value) AS seq FROM ${table}_seq_seq WHERE is_called`,
  });

const lastAttemptStatement = lastNumberOf("attempts");
const lastEventStatement = lastNumberOf("events");

/** The number of the last attempt that was ever logged, deleted ones included; 0 before the first. */
export function selectLastAttempt(db: Connection): number {
  return lastAttemptStatement(db).get()?.seq ?? 0;
}

/** The number of the last event that was ever stored, deleted ones included; 0 before the first. */
export function selectLastEvent(db: Connection): number {
  return lastEventStatement(db).get()?.seq ?? 0;
}

const workStatement = query<object, []>(
  "SELECT 1 WHERE EXISTS (SELECT 1 FROM jobs) OR EXISTS (SELECT 1 FROM fan_outs)",
);

/** Whether any event waits to be sent, to disabled subscriptions too. */
export function hasWork(db: Connection): boolean {
  return workStatement(db).get() !== null;
}

/** The events that waited for a subscription when the hold began: their number, the oldest and the newest. */
export type HeldRow = {
  subscriptionId: string;
  name: string;
  team: string;
  teamId: string;
  status: "active" | "disabled";
  count: number;
  oldest: number;
  newest: number;
};

const heldStatement = query<HeldRow, [number]>(
  `SELECT subscriptions.id AS "subscriptionId", subscriptions.name, teams.slug AS team, teams.id AS "teamId",
     subscriptions.status, held.count, oldest.created_at AS oldest, newest.created_at AS newest
   FROM (SELECT subscription_id, count(*) AS count, min(event_seq) AS first, max(event_seq) AS last FROM jobs
         WHERE event_seq <= ? GROUP BY subscription_id) AS held
   JOIN subscriptions ON subscriptions.id = held.subscription_id
   JOIN teams ON teams.id = subscriptions.team_id
   JOIN events AS oldest ON oldest.seq = held.first JOIN events AS newest ON newest.seq = held.last
   WHERE subscriptions.deleted_at IS NULL
     AND subscriptions.id NOT IN (SELECT subscription_id FROM delivery_hold_exceptions)
   ORDER BY teams.slug, subscriptions.name, subscriptions.id`,
);

/** What waits up to the event `lastEvent`, by subscription, without those that are delivered to. Reads the whole queue. */
export function selectHeld(db: Connection, lastEvent: number): HeldRow[] {
  return heldStatement(db).all(lastEvent);
}

/** One event that waits for a subscription. `happenedAt` is in milliseconds since 1970. */
export type HeldEventRow = { id: string; type: string; happenedAt: number; attempts: number };

const heldEventsStatement = query<HeldEventRow, [string, number, number]>(
  `SELECT events.id, events.type, events.created_at AS "happenedAt", jobs.attempts
   FROM jobs JOIN events ON events.seq = jobs.event_seq
   WHERE jobs.subscription_id = cast(? AS text)
     AND jobs.event_seq <= cast(? AS bigint)
   ORDER BY jobs.event_seq LIMIT ?`,
);

/** The subscription's waiting events up to `lastEvent`, oldest first, at most `limit`. */
export function selectHeldEvents(
  db: Connection,
  subscriptionId: string,
  { lastEvent, limit }: { lastEvent: number; limit: number },
): HeldEventRow[] {
  return heldEventsStatement(db).all(subscriptionId, lastEvent, limit);
}

const dropStatement = query<{ eventSeq: number }, [string, string, number, number]>(
  `DELETE FROM jobs WHERE subscription_id = ? AND (due_at, event_seq) IN (
     SELECT due_at, event_seq FROM jobs WHERE subscription_id = ? AND event_seq <= ?
     ORDER BY due_at, event_seq LIMIT ?)
   RETURNING event_seq AS "eventSeq"`,
);

/** Drops at most `limit` of the subscription's jobs whose events are not after `lastEvent`; returns how many. */
export function deleteHeldJobs(
  tx: Transaction,
  subscriptionId: string,
  lastEvent: number,
  limit: number,
): number {
  tx.commit.hasChanged = true;
  return dropStatement(tx).all(subscriptionId, subscriptionId, lastEvent, limit).length;
}

const teamIdsStatement = query<{ id: string }, []>("SELECT id FROM teams ORDER BY id");

/** The teams of the workspace. */
export function selectTeamIds(db: Connection): string[] {
  return teamIdsStatement(db)
    .all()
    .map(({ id }) => id);
}
