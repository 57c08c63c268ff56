import { beside } from "../database/beside.ts";
import type { Commit } from "../database/commit.ts";
import type { Transaction } from "../database/database.ts";
import { queueEvent } from "./queue-event.ts";
import { filterAllowed } from "./creator-visibility.ts";
import {
  deleteFanOut,
  type FanOut,
  insertFanOut,
  selectFanOut,
  selectNextSubscriptions,
  hasAnyFanOut,
  hasFanOutOfTeam,
  updateFanOut,
} from "./fan-out-store.ts";

/** The number of jobs queued per write: that takes a millisecond with its commit when each goes to a different page. */
const jobsPerWrite = 25;

/** Whether any team has a fan-out. Looked up once per commit, because there is nearly always none. */
const anyFanOuts = new WeakMap<Commit, boolean>();

/** Leaves it to `deliveries/fan-out-loop.ts` to queue the event for its subscriptions after the commit. */
export function beginFanOut(
  tx: Transaction,
  fanOut: Pick<FanOut, "teamId" | "channelId" | "eventSeq">,
): void {
  insertFanOut(tx, fanOut);
  anyFanOuts.set(tx.commit, true);
  tx.commit.hasFanOuts = true;
}

/**
 * Whether events of the team are still being queued, for a change that puts an event down. On PostgreSQL it may say no
 * without a look, since whoever writes the event looks.
 */
export function hasFanOuts(tx: Transaction, teamId: string): boolean {
  if (tx.commit.presumesNoFanOuts) return false;
  let isAny = anyFanOuts.get(tx.commit);
  if (isAny === undefined) {
    isAny = beside(tx, () => hasAnyFanOut(tx));
    anyFanOuts.set(tx.commit, isAny);
  }
  return isAny && hasFanOutOfTeam(tx, teamId);
}

/**
 * Queues the team's earliest events for their next subscriptions, at most `limit` of them. One call processes as many
 * events as that allows, so that events with few subscriptions are queued as fast as they happen.
 */
export function continueFanOuts(tx: Transaction, teamId: string, limit = jobsPerWrite): void {
  for (let left = limit; left > 0;) {
    const fanOut = selectFanOut(tx, teamId);
    if (!fanOut) return;
    // An event without remaining subscriptions counts as work too.
    left -= Math.max(1, continueFanOut(tx, fanOut, left));
  }
}

/**
 * Queues the event for its next subscriptions, at most `limit`, and saves the progress in the same write, so that a
 * crash at any moment neither skips a subscription nor queues an event twice. Subscriptions created after the event,
 * or deleted by now, do not get it. Returns the number of subscriptions processed.
 */
function continueFanOut(tx: Transaction, fanOut: FanOut, limit: number): number {
  // One more than is queued, to see whether there are more.
  const next = selectNextSubscriptions(tx, fanOut, limit + 1);
  const ids = next.slice(0, limit);
  queueEvent(tx, fanOut, filterAllowed(tx, ids, fanOut.channelId, fanOut.happenedAt));
  const afterSubscription = ids.at(-1) ?? fanOut.afterSubscription;
  if (next.length > limit) {
    updateFanOut(tx, { ...fanOut, afterSubscription });
    return ids.length;
  }
  if (fanOut.afterChannel === fanOut.channelId) {
    deleteFanOut(tx, fanOut);
    return ids.length;
  }
  // The filters for every channel are done.
  const inChannel = { ...fanOut, afterChannel: fanOut.channelId, afterSubscription: "" };
  return ids.length + continueFanOut(tx, inChannel, limit - ids.length);
}
