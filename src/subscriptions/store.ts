import { and, desc, eq, inArray, isNotNull, isNull, lt, not, notExists, sql } from "drizzle-orm";
import type { Connection, Transaction } from "../database/database.ts";
import { prepared, query } from "../database/prepared.ts";
import { cached } from "../database/cached.ts";
import { attempts, jobs, subscriptionFilters, subscriptions } from "../database/schema.ts";
import { filtersOf } from "./filters.ts";

export type SubscriptionRow = typeof subscriptions.$inferSelect;

export async function insertSubscription(tx: Transaction, row: SubscriptionRow): Promise<void> {
  await tx.insert(subscriptions).values(row);
}

/** The team's subscription; undefined when there is none or it was deleted. */
export async function selectSubscription(
  db: Connection,
  teamId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.id, id), eq(subscriptions.teamId, teamId), isNull(subscriptions.deletedAt)));
  return row;
}

/** The subscription, also when it was deleted; undefined when its row is gone. */
export async function selectSubscriptionById(
  db: Connection,
  id: string,
): Promise<SubscriptionRow | undefined> {
  const [row] = await db.select().from(subscriptions).where(eq(subscriptions.id, id));
  return row;
}

const destinationStatement = prepared((db) =>
  db
    .select({
      id: subscriptions.id,
      url: subscriptions.url,
      secret: subscriptions.secret,
      previousSecret: subscriptions.previousSecret,
      previousSecretUntil: subscriptions.previousSecretUntil,
      headers: subscriptions.headers,
    })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.id, sql.placeholder("id")),
        eq(subscriptions.status, "active"),
        isNull(subscriptions.deletedAt),
      ),
    )
    .prepare(),
);

/** The URL, secrets and headers for deliveries of the subscription; null while it is disabled or deleted. */
export const selectDestination = cached(
  (db, id: string): Destination | null =>
    // Null is cached too: a disabled subscription is looked up for every event that waits for it.
    destinationStatement(db).get({ id }) ?? null,
);

/** Where a subscription's deliveries go, the secrets that sign them, and the headers that go with them. */
export type Destination = Pick<
  SubscriptionRow,
  "id" | "url" | "secret" | "previousSecret" | "previousSecretUntil" | "headers"
>;

/** A subscription's team, its URL and its delivery results. */
export type DeliveryRecord = Pick<SubscriptionRow, "teamId" | "url"> & {
  /** The number of consecutive failed attempts. */
  failures: number;
  /** Whether any attempt has ever succeeded. */
  hasSucceeded: boolean;
};

const deliveryRecordStatement = query<
  Omit<DeliveryRecord, "hasSucceeded"> & { hasSucceeded: number },
  [string]
>(
  `SELECT team_id AS "teamId", url, consecutive_failures AS failures,
     CASE WHEN last_success_at IS NULL THEN 0 ELSE 1 END AS "hasSucceeded"
   FROM subscriptions WHERE id = ?`,
);

/** The subscription's delivery record, even if it was deleted; undefined when its row is gone. */
export function selectDeliveryRecord(db: Connection, id: string): DeliveryRecord | undefined {
  const row = deliveryRecordStatement(db).get(id);
  return row ? { ...row, hasSucceeded: row.hasSucceeded === 1 } : undefined;
}

/** The team's subscriptions, newest first. */
export async function selectSubscriptions(db: Connection, teamId: string): Promise<SubscriptionRow[]> {
  return await db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.teamId, teamId), isNull(subscriptions.deletedAt)))
    .orderBy(desc(subscriptions.createdAt), desc(subscriptions.id));
}

/** The subscriptions of one user or login, named as in the audit log, with this status, newest first. */
export async function selectSubscriptionsOfCreator(
  db: Connection,
  createdBy: string,
  status: SubscriptionRow["status"],
): Promise<SubscriptionRow[]> {
  return await db
    .select()
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.createdBy, createdBy),
        eq(subscriptions.status, status),
        isNull(subscriptions.deletedAt),
      ),
    )
    .orderBy(desc(subscriptions.createdAt), desc(subscriptions.id));
}

/** Disables the creator's active subscriptions in one statement and returns the updated rows. */
export async function disableSubscriptionsOfCreator(
  tx: Transaction,
  createdBy: string,
  at: number,
): Promise<SubscriptionRow[]> {
  return await tx
    .update(subscriptions)
    .set({ status: "disabled", disabledAt: at })
    .where(
      and(
        eq(subscriptions.createdBy, createdBy),
        eq(subscriptions.status, "active"),
        isNull(subscriptions.deletedAt),
      ),
    )
    .returning();
}

const undeletedStatement = query<unknown, [string, number]>(
  "SELECT 1 FROM subscriptions WHERE team_id = ? AND deleted_at IS NULL LIMIT ?",
);

/** Whether the team has at least `count` subscriptions, disabled ones included. Reads no more than `count` rows. */
export function hasSubscriptions(db: Connection, teamId: string, count: number): boolean {
  return undeletedStatement(db).values(teamId, count).length >= count;
}

/** A subscription's state. `firstDueAt` is when the first of its jobs is due; null when it has none. */
export type SubscriptionState = Pick<SubscriptionRow, "id" | "status"> & {
  failures: number;
  isDeleted: 0 | 1;
  firstDueAt: number | null;
};

const statesStatement = query<SubscriptionState, [string, number]>(
  `SELECT id, status, consecutive_failures AS failures, CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END AS "isDeleted",
     (SELECT min(due_at) FROM jobs WHERE subscription_id = subscriptions.id) AS "firstDueAt"
   FROM subscriptions WHERE id > ? ORDER BY id LIMIT ?`,
);

/** The subscriptions of the workspace after the given id, at most `limit`, deleted ones included. */
export function selectSubscriptionStates(db: Connection, after: string, limit: number): SubscriptionState[] {
  return statesStatement(db).all(after, limit);
}

/** The active subscriptions of the workspace that have jobs. */
export async function selectSubscriptionIdsWithWork(db: Connection): Promise<string[]> {
  const rows = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(eq(subscriptions.status, "active"), isNull(subscriptions.deletedAt), hasJobs));
  return rows.map(({ id }) => id);
}

/** The deleted subscriptions that still have jobs. */
export async function selectDeletedSubscriptionIds(db: Connection): Promise<string[]> {
  const rows = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(isNotNull(subscriptions.deletedAt), hasJobs));
  return rows.map(({ id }) => id);
}

/** The disabled subscriptions that have jobs. */
export async function selectDisabledSubscriptionIds(db: Connection): Promise<string[]> {
  const rows = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(isNotNull(subscriptions.disabledAt), isNull(subscriptions.deletedAt), hasJobs));
  return rows.map(({ id }) => id);
}

/** At most `limit` subscriptions that were deleted before the time `before` and have no jobs or attempts left. */
export async function selectForgottenSubscriptionIds(
  db: Connection,
  before: number,
  limit: number,
): Promise<string[]> {
  const logged = db
    .select({ seq: attempts.seq })
    .from(attempts)
    .where(eq(attempts.subscriptionId, subscriptions.id));
  const rows = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .where(and(lt(subscriptions.deletedAt, before), not(hasJobs), notExists(logged)))
    .limit(limit);
  return rows.map(({ id }) => id);
}

export async function deleteSubscriptions(tx: Transaction, ids: string[]): Promise<void> {
  await tx.delete(subscriptions).where(inArray(subscriptions.id, ids));
}

/** Not EXISTS, for which PostgreSQL may read all jobs of the workspace instead of one of each subscription. */
const hasJobs = sql`(SELECT min(${jobs.dueAt}) FROM ${jobs} WHERE ${jobs.subscriptionId} = ${subscriptions.id}) IS NOT NULL`;

export async function updateSubscription(
  tx: Transaction,
  id: string,
  change: Partial<Omit<SubscriptionRow, "id" | "teamId">>,
): Promise<void> {
  await tx.update(subscriptions).set(change).where(eq(subscriptions.id, id));
}

/** Notes when the receiver's certificate ends, in milliseconds since 1970, unless the URL is another one by now. */
export async function updateCertificate(
  tx: Transaction,
  { id, url }: Pick<SubscriptionRow, "id" | "url">,
  endsAt: number,
): Promise<void> {
  await tx
    .update(subscriptions)
    .set({ certificateEndsAt: endsAt })
    .where(and(eq(subscriptions.id, id), eq(subscriptions.url, url)));
}

const streakStatement = query<{ failures: number }, [string]>(
  `SELECT consecutive_failures AS failures FROM subscriptions
   WHERE id = ? AND status = 'active' AND deleted_at IS NULL`,
);

/** The length of the subscription's failure streak; 0 while it is disabled or deleted. */
export function selectStreakOfActive(db: Connection, id: string): number {
  return streakStatement(db).get(id)?.failures ?? 0;
}

/** SQLite allows 32,766 parameters per statement; each row takes five. */
const filtersPerInsert = 1_000;

/**
 * Subscribes the subscription to every type of event in each channel, or in all channels (null), instead of what it was
 * subscribed to. Fan-outs in progress skip it for events up to `afterEvent` that it did not receive before.
 */
export async function replaceFilters(
  tx: Transaction,
  { id, teamId, url }: Pick<SubscriptionRow, "id" | "teamId" | "url">,
  eventTypes: readonly string[],
  channelIds: readonly string[] | null,
  afterEvent: number,
): Promise<void> {
  const before = await tx
    .select()
    .from(subscriptionFilters)
    .where(eq(subscriptionFilters.subscriptionId, id));
  const kept = new Map(
    before.map((filter) => [`${filter.eventType} ${filter.channelId}`, filter.afterEvent]),
  );
  await deleteFilters(tx, id);
  const rows = filtersOf(eventTypes, channelIds).map(({ eventType, channelId }) => ({
    teamId,
    eventType,
    channelId,
    subscriptionId: id,
    afterEvent: kept.get(`${eventType} ${channelId}`) ?? afterEvent,
    isOnlyRead: url === "",
  }));
  for (let from = 0; from < rows.length; from += filtersPerInsert) {
    await tx.insert(subscriptionFilters).values(rows.slice(from, from + filtersPerInsert));
  }
}

/** Makes fan-outs in progress skip the subscription for events up to `afterEvent`. */
export async function updateFilters(tx: Transaction, id: string, afterEvent: number): Promise<void> {
  await tx.update(subscriptionFilters).set({ afterEvent }).where(eq(subscriptionFilters.subscriptionId, id));
}

/** Unsubscribes the subscription from all events. */
export async function deleteFilters(tx: Transaction, id: string): Promise<void> {
  await tx.delete(subscriptionFilters).where(eq(subscriptionFilters.subscriptionId, id));
}
