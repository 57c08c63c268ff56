import type { Database, Connection, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { selectEventTime, selectLastEventSeq } from "../outbox/event-store.ts";
import { hasFanOuts } from "../outbox/fan-outs.ts";
import { selectStillToQueue } from "../outbox/fan-out-store.ts";
import { deleteJobs, makeJobDue, selectJobsAfter, selectWaiting } from "../outbox/job-store.ts";
import { timestamp } from "../timestamp.ts";
import { findCreator } from "./creators.ts";
import { listedSubscription } from "./resource.ts";
import type { ListedSubscription } from "./schemas.ts";
import { type SubscriptionRow, updateFilters, updateSubscription } from "./store.ts";
import { getSubscription, recordSubscription } from "./subscriptions.ts";

/** So many waiting jobs are changed in one write, so that other writes wait a few milliseconds at most. */
const jobsPerWrite = 200;

/** After each such write it rests for so many times as long as that took: requests and deliveries come first. */
const restFactor = 3;

/** So many waiting jobs are looked at in one go. */
const jobsPerLook = 1_000;

/** What waits for a subscription: how many events, and when the oldest of them happened, null when none waits. */
export type Pending = { count: number; since: string | null };

/**
 * What waits for the subscription now. Reads all of it, so it is for commands and not for requests.
 * @throws DomainError `not_found`.
 */
export async function pendingOf(db: Connection, teamId: string, id: string): Promise<Pending> {
  const row = await getSubscription(db, teamId, id);
  const found = [selectWaiting(db, row.id), selectStillToQueue(db, teamId, row.id)].filter(
    ({ count }) => count > 0,
  );
  if (found.length === 0) return { count: 0, since: null };
  const oldest = Math.min(...found.map(({ oldest }) => oldest));
  const count = found.reduce((sum, part) => sum + part.count, 0);
  return { count, since: timestamp(selectEventTime(db, oldest)) };
}

/**
 * Makes the subscription active again with a clean streak. What waited meanwhile is sent in the order in which it
 * happened, or dropped with `discardPending`. An active one stays as it is, but for what is dropped. However much waits,
 * no other write waits for long: it is made ready in steps before the subscription is active.
 * @throws DomainError `not_found`; `conflict` when its creator is deactivated or deleted meanwhile.
 */
export async function enableSubscription(
  database: Database,
  teamId: string,
  id: string,
  { discardPending }: { discardPending: boolean },
  actor: string,
): Promise<ListedSubscription> {
  const goneBefore = goneCreatorOf(database.read, await getSubscription(database.read, teamId, id));
  if (discardPending) await database.write((tx) => passPendingBy(tx, teamId, id, actor));
  let mayWait = discardPending;
  while (mayWait) mayWait = await rested(() => database.write((tx) => discardSome(tx, teamId, id, actor)));
  const { id: subscriptionId, status } = await getSubscription(database.read, teamId, id);
  if (status === "disabled") await putInOrder(database, subscriptionId);
  return await database.write(async (tx) => {
    const row = await getSubscription(tx, teamId, id);
    if (row.status === "active") return listedSubscription(row);
    // Whoever asked did not know of it, and a deactivation disables what its user subscribed to.
    const gone = goneCreatorOf(tx, row);
    if (gone !== undefined && goneBefore === undefined) throw creatorGoneMeanwhile(gone);
    const enabled = { status: "active", consecutiveFailures: 0, disabledAt: null } as const;
    await updateSubscription(tx, row.id, enabled);
    await recordSubscription(tx, row, "webhook.enabled", actor);
    tx.commit.subscriptionsWithWork.add(row.id);
    return listedSubscription({ ...row, ...enabled });
  });
}

/** The name of the one who created the subscription, where they were deactivated or deleted since. */
function goneCreatorOf(db: Connection, { teamId, createdBy }: SubscriptionRow): string | undefined {
  if (createdBy === null) return undefined;
  const { name, isGone } = findCreator(db, teamId, createdBy);
  return isGone ? name : undefined;
}

function creatorGoneMeanwhile(name: string): DomainError {
  return new DomainError(
    "conflict",
    `${name}, who created the subscription, was deactivated meanwhile, so it stays disabled. To have it go on without ` +
      "them, enable it again.",
  );
}

/** Makes every job due since its event happened: those that had failed and wait for another time too. */
async function putInOrder(database: Database, subscriptionId: string): Promise<void> {
  let place: { dueAt: number; eventSeq: number } | undefined = { dueAt: 0, eventSeq: 0 };
  while (place) {
    const page = selectJobsAfter(database.read, subscriptionId, place, jobsPerLook);
    const late = page.filter(({ dueAt, happenedAt }) => dueAt > happenedAt);
    for (let from = 0; from < late.length; from += jobsPerWrite) {
      const some = late.slice(from, from + jobsPerWrite);
      await rested(() =>
        database.write((tx) => {
          for (const job of some) makeJobDue(tx, subscriptionId, job);
        }),
      );
    }
    place = page.at(-1);
  }
}

/** Runs one step of many and rests after it. */
async function rested<Result>(step: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await step();
  await Bun.sleep((performance.now() - startedAt) * restFactor);
  return result;
}

/** Has the events that are still being queued pass the subscription by, and records how many. */
async function passPendingBy(tx: Transaction, teamId: string, id: string, actor: string): Promise<void> {
  const row = await getSubscription(tx, teamId, id);
  if (!hasFanOuts(tx, teamId)) return;
  const { count } = selectStillToQueue(tx, teamId, row.id);
  if (count > 0) await recordDiscarded(tx, row, count, actor);
  await updateFilters(tx, row.id, await selectLastEventSeq(tx));
}

/** Drops some of what waits for the subscription and records that in the same write; whether more may wait. */
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
 * Disables the subscription: nothing is sent, and what it would be told waits until it is enabled, for as long as attempts
 * are kept. A disabled one stays so.
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

/** Disables an active subscription for the reason that the audit entry gives; the row as it now is. */
export async function disable(
  tx: Transaction,
  row: SubscriptionRow,
  action: string,
  actor: string,
  details: Record<string, unknown> = {},
): Promise<SubscriptionRow> {
  const disabled = { status: "disabled", disabledAt: Date.now() } as const;
  await updateSubscription(tx, row.id, disabled);
  await recordSubscription(tx, row, action, actor, details);
  return { ...row, ...disabled };
}
