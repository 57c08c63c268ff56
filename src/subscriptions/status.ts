import type { Database, Connection, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { selectEventTime, selectLastEventSeq } from "../outbox/event-store.ts";
import { hasFanOutOfTeam, selectStillToQueue } from "../outbox/fan-out-store.ts";
import { deleteJobs, selectWaiting } from "../outbox/job-store.ts";
import { timestamp } from "../timestamp.ts";
import { findCreator } from "./creators.ts";
import { listedSubscription } from "./resource.ts";
import type { ListedSubscription } from "./schemas.ts";
import { type SubscriptionRow, updateFilters, updateSubscription } from "./store.ts";
import { getSubscription, recordSubscription } from "./subscriptions.ts";
import { jobsPerWrite, makeJobsDue, withPause } from "./waiting-jobs.ts";
import { now } from "../system/repeatable.ts";

/** The events waiting for a subscription: their number, and when the oldest happened; null when there is none. */
export type Pending = { count: number; since: string | null };

/**
 * The events waiting for the subscription now. Reads all of them, so it is for commands and not for requests.
 * @throws DomainError `not_found`.
 */
export async function pendingOf(db: Connection, teamId: string, id: string): Promise<Pending> {
  const row = await getSubscription(db, teamId, id);
  const waiting = [selectWaiting(db, row.id), selectStillToQueue(db, teamId, row.id)].filter(
    ({ count }) => count > 0,
  );
  if (waiting.length === 0) return { count: 0, since: null };
  const oldest = Math.min(...waiting.map(({ oldest }) => oldest));
  const count = waiting.reduce((sum, part) => sum + part.count, 0);
  return { count, since: timestamp(selectEventTime(db, oldest)) };
}

/**
 * Enables the subscription with a clean streak. Events that waited are sent in the order in which they happened, or
 * dropped with `discardPending`. An active subscription does not change, except for dropped events. Other writes never
 * wait long, however many events there are: the jobs are prepared in steps before the subscription becomes active.
 * @throws DomainError `not_found`; `conflict` when its creator is deactivated or deleted in the meantime.
 */
export async function enableSubscription(
  database: Database,
  teamId: string,
  id: string,
  { discardPending }: { discardPending: boolean },
  actor: string,
): Promise<ListedSubscription> {
  const goneBefore = await database.ask(async (db) =>
    goneCreatorOf(db, await getSubscription(db, teamId, id)),
  );
  if (discardPending) await database.write((tx) => skipFanOuts(tx, teamId, id, actor));
  let mayHaveMore = discardPending;
  while (mayHaveMore)
    mayHaveMore = await withPause(() => database.write((tx) => discardSome(tx, teamId, id, actor)));
  const { id: subscriptionId, status } = await database.ask((db) => getSubscription(db, teamId, id));
  if (status === "disabled") await makeJobsDue(database, subscriptionId);
  return await database.write(async (tx) => {
    const row = await getSubscription(tx, teamId, id);
    if (row.status === "active") return listedSubscription(row);
    // The caller did not know of the deactivation, which disables the user's subscriptions.
    const goneCreator = goneCreatorOf(tx, row);
    if (goneCreator !== undefined && goneBefore === undefined) throw creatorGoneError(goneCreator);
    const enabled = { status: "active", consecutiveFailures: 0, disabledAt: null } as const;
    await updateSubscription(tx, row.id, enabled);
    await recordSubscription(tx, row, "webhook.enabled", actor);
    tx.commit.subscriptionsWithWork.add(row.id);
    return listedSubscription({ ...row, ...enabled });
  });
}

/** The name of the subscription's creator if they have been deactivated or deleted. */
function goneCreatorOf(db: Connection, { teamId, createdBy }: SubscriptionRow): string | undefined {
  if (createdBy === null) return undefined;
  const { name, isGone } = findCreator(db, teamId, createdBy);
  return isGone ? name : undefined;
}

function creatorGoneError(name: string): DomainError {
  return new DomainError(
    "conflict",
    `${name}, who created the subscription, was deactivated in the meantime, so it stays disabled. To keep using it ` +
      "without them, enable it again.",
  );
}

/** Makes fan-outs in progress skip the subscription, and records the number of events. */
async function skipFanOuts(tx: Transaction, teamId: string, id: string, actor: string): Promise<void> {
  const row = await getSubscription(tx, teamId, id);
  if (!hasFanOutOfTeam(tx, teamId)) return;
  const { count } = selectStillToQueue(tx, teamId, row.id);
  if (count > 0) await recordDiscarded(tx, row, count, actor);
  await updateFilters(tx, row.id, await selectLastEventSeq(tx));
}

/** Drops some of the subscription's jobs and records that in the same write; returns whether there may be more. */
async function discardSome(tx: Transaction, teamId: string, id: string, actor: string): Promise<boolean> {
  const row = await getSubscription(tx, teamId, id);
  const discarded = await deleteJobs(tx, row.id, jobsPerWrite);
  if (discarded > 0) await recordDiscarded(tx, row, discarded, actor);
  return discarded === jobsPerWrite;
}

async function recordDiscarded(
  tx: Transaction,
  row: SubscriptionRow,
  discarded: number,
  actor: string,
): Promise<void> {
  await recordSubscription(tx, row, "webhook.pending_discarded", actor, { discarded });
}

/**
 * Disables the subscription. Nothing is sent; its events wait until it is enabled, for as long as attempts are kept. A
 * disabled subscription does not change.
 * @throws DomainError `not_found`.
 */
export async function disableSubscription(
  tx: Transaction,
  teamId: string,
  id: string,
  actor: string,
): Promise<ListedSubscription> {
  const row = await getSubscription(tx, teamId, id);
  if (row.status === "disabled") return listedSubscription(row);
  return listedSubscription(await disable(tx, row, "webhook.disabled", actor));
}

/** Disables an active subscription and records `action` with its `details`. Returns the updated row. */
export async function disable(
  tx: Transaction,
  row: SubscriptionRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<SubscriptionRow> {
  const disabled = { status: "disabled", disabledAt: now() } as const;
  await updateSubscription(tx, row.id, disabled);
  await recordSubscription(tx, row, action, actor, details);
  return { ...row, ...disabled };
}
