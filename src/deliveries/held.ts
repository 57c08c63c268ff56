import { record } from "../audit/audit.ts";
import type { Connection, Database, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { selectTeamWithFanOut } from "../outbox/fan-out-store.ts";
import { continueFanOuts } from "../outbox/fan-outs.ts";
import { jobsPerWrite, makeJobsDue, withPause } from "../subscriptions/waiting-jobs.ts";
import { timestamp } from "../timestamp.ts";
import { type Hold, holdOf } from "./hold.ts";
import {
  deleteHeldJobs,
  deleteHold,
  type HeldRow,
  type HoldRow,
  insertHoldException,
  selectHeld,
  selectHeldEvents,
  selectHold,
  selectTeamIds,
  updateCopy,
} from "./hold-store.ts";
import { newId } from "../system/repeatable.ts";

/** What would be sent again to a subscription: the events that waited for it when the hold began. */
export type HeldSubscription = {
  webhook_id: string;
  name: string;
  team: string;
  status: "active" | "disabled";
  events: number;
  oldest: string;
  newest: string;
};

/** One event that would be sent again. */
export type HeldEvent = { event_id: string; event_type: string; created_at: string; attempts: number };

/** Which subscription a decision is about; undefined for all of the workspace. */
type Which = { id: string; teamId: string } | undefined;

/** What a decision was about: the number of subscriptions and of events, and whether the hold is over. */
export type Decided = { webhooks: number; events: number; is_over: boolean };

/** Called as events are done, with the number of all that the decision is about. */
type OnProgress = (done: number, total: number) => void;

/**
 * What would be sent again, by subscription; undefined when deliveries are not held. Subscriptions that were released
 * one by one are left out. Reads the whole queue, so it is for commands.
 */
export async function listHeld(
  database: Database,
): Promise<{ hold: Hold; webhooks: HeldSubscription[] } | undefined> {
  const { row, hold } = await database.ask((db) => ({ row: selectHold(db), hold: holdOf(db) }));
  if (!row || !hold) return undefined;
  await finishFanOuts(database, row);
  const waiting = await database.ask((db) => selectHeld(db, row.lastEvent));
  const webhooks = waiting.map((held) => ({
    webhook_id: held.subscriptionId,
    name: held.name,
    team: held.team,
    status: held.status,
    events: held.count,
    oldest: timestamp(held.oldest),
    newest: timestamp(held.newest),
  }));
  return { hold, webhooks };
}

/** The events that would be sent again to the subscription, oldest first, at most `limit`. */
export function listHeldEvents(db: Connection, subscriptionId: string, limit: number): HeldEvent[] {
  const hold = selectHold(db);
  if (!hold || !heldOf(db, hold, { id: subscriptionId })[0]) return [];
  const { lastEvent } = hold;
  return selectHeldEvents(db, subscriptionId, { lastEvent, limit }).map((event) => ({
    event_id: event.id,
    event_type: event.type,
    created_at: timestamp(event.happenedAt),
    attempts: event.attempts,
  }));
}

/**
 * Sends what waits, in the order of the events: all of it, or that of one subscription, which leaves the others held.
 * The running server has to be told.
 * @throws DomainError `conflict` when deliveries are not held, or no longer.
 */
export async function release(
  database: Database,
  which: Which,
  actor: string,
  onProgress: OnProgress,
): Promise<Decided> {
  const held = await decideAbout(database, which);
  const total = eventsOf(held);
  let done = 0;
  for (const { subscriptionId, count } of held) {
    await makeJobsDue(database, subscriptionId);
    onProgress((done += count), total);
  }
  return await endHold(database, which, { held, actor, action: "deliveries.released" });
}

/**
 * Drops the events that would be sent again, of all subscriptions or of one, in small writes; events from after the
 * beginning of the hold are then sent. The running server has to be told.
 * @throws DomainError `conflict` when deliveries are not held, or no longer.
 */
export async function discard(
  database: Database,
  which: Which,
  actor: string,
  onProgress: OnProgress,
): Promise<Decided> {
  const held = await decideAbout(database, which);
  const total = eventsOf(held);
  let done = 0;
  for (const row of held) {
    for (let dropped = jobsPerWrite; dropped === jobsPerWrite;) {
      dropped = await withPause(() => database.write((tx) => dropSome(tx, row, actor)));
      onProgress((done += dropped), total);
    }
    await makeJobsDue(database, row.subscriptionId);
  }
  return await endHold(database, which, { held, actor, action: "deliveries.discarded" });
}

/** Drops some of the subscription's events, records that in the same write, and returns how many. */
async function dropSome(
  tx: Transaction,
  { subscriptionId, teamId }: HeldRow,
  actor: string,
): Promise<number> {
  const discarded = deleteHeldJobs(tx, subscriptionId, requireHold(tx).lastEvent, jobsPerWrite);
  const target = `webhook:${subscriptionId}`;
  if (discarded > 0)
    await record(tx, { teamId, actor, action: "webhook.held_discarded", target, details: { discarded } });
  return discarded;
}

/** The subscriptions that the decision is about and for which something waits. */
async function decideAbout(database: Database, which: Which): Promise<HeldRow[]> {
  const hold = await database.ask(requireHold);
  await finishFanOuts(database, hold);
  return await database.ask((db) => heldOf(db, hold, which));
}

async function endHold(
  database: Database,
  which: Which,
  { held, actor, action }: { held: readonly HeldRow[]; actor: string; action: string },
): Promise<Decided> {
  return await database.write(async (tx) => {
    const hold = requireHold(tx);
    if (which) insertHoldException(tx, which.id);
    else {
      deleteHold(tx);
      // From here on this database has a history of its own: markers of the one that it was copied from are foreign.
      updateCopy(tx, { copyId: newId(), accepted: hold.markers });
    }
    for (const teamId of which ? [which.teamId] : selectTeamIds(tx)) {
      const target = which ? `webhook:${which.id}` : `team:${teamId}`;
      const events = eventsOf(held.filter((row) => row.teamId === teamId));
      await record(tx, { teamId, actor, action, target, details: { events, reason: hold.reason } });
    }
    for (const { subscriptionId } of held) tx.commit.subscriptionsWithWork.add(subscriptionId);
    return { webhooks: held.length, events: eventsOf(held), is_over: !which };
  });
}

function heldOf(db: Connection, hold: HoldRow, which: Pick<NonNullable<Which>, "id"> | undefined): HeldRow[] {
  const all = selectHeld(db, hold.lastEvent);
  return which ? all.filter(({ subscriptionId }) => subscriptionId === which.id) : all;
}

function eventsOf(held: readonly HeldRow[]): number {
  return held.reduce((sum, { count }) => sum + count, 0);
}

/** Queues what the copy had not queued for all subscriptions yet. A running server does the same at the same time. */
async function finishFanOuts(database: Database, { lastEvent }: HoldRow): Promise<void> {
  const nextTeam = () => database.ask((db) => selectTeamWithFanOut(db, lastEvent));
  for (let team = await nextTeam(); team !== undefined; team = await nextTeam()) {
    const teamId = team;
    await withPause(() => database.write((tx) => continueFanOuts(tx, teamId)));
  }
}

function requireHold(db: Connection): HoldRow {
  const hold = selectHold(db);
  if (hold) return hold;
  throw new DomainError("conflict", "Deliveries are not held, so there is nothing to decide.");
}
