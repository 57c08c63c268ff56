import type { Commit } from "../database/commit.ts";
import type { Transaction } from "../database/database.ts";
import { queueEvent } from "./queue-event.ts";
import { onlySeeing } from "./creator-visibility.ts";
import {
  deleteFanOut,
  type FanOut,
  insertFanOut,
  selectFanOut,
  selectFiltering,
  selectIsAnyLeft,
  selectIsLeft,
  updateFanOut,
} from "./fan-out-store.ts";

/** So many jobs are queued in one write: a millisecond with its commit, where each goes to another page. */
const jobsPerWrite = 25;

/** Whether any team has one: asked once for each commit, since nearly always none has. */
const isAnyLeft = new WeakMap<Commit, boolean>();

/** Leaves the event to be queued for its subscriptions after the commit (`deliveries/fan-out-loop.ts`). */
export function beginFanOut(
  tx: Transaction,
  fanOut: Pick<FanOut, "teamId" | "channelId" | "eventSeq">,
): void {
  insertFanOut(tx, fanOut);
  isAnyLeft.set(tx.commit, true);
  tx.commit.hasFanOuts = true;
}

/** Whether events of the team are still being queued. */
export function hasFanOuts(tx: Transaction, teamId: string): boolean {
  let isAny = isAnyLeft.get(tx.commit);
  if (isAny === undefined) {
    isAny = selectIsAnyLeft(tx);
    isAnyLeft.set(tx.commit, isAny);
  }
  return isAny && selectIsLeft(tx, teamId);
}

/**
 * Queues the team's earliest events for the next of their subscriptions, `limit` at most: as many events as that takes,
 * so that those that few want are through as fast as they happen.
 */
export function continueFanOuts(tx: Transaction, teamId: string, limit = jobsPerWrite): void {
  for (let left = limit; left > 0;) {
    const fanOut = selectFanOut(tx, teamId);
    if (!fanOut) return;
    // One that nobody wants any more is some work too.
    left -= Math.max(1, continueFanOut(tx, fanOut, left));
  }
}

/**
 * Queues the event for the next of its subscriptions, `limit` at most, and moves on behind them in the same write: a crash at
 * any moment leaves nobody out, and queues nothing twice. Those that were made after the event do not get it, nor those
 * that are deleted by now. Returns how many subscriptions it has come past.
 */
function continueFanOut(tx: Transaction, fanOut: FanOut, limit: number): number {
  // One more than are queued tells whether there are more.
  const next = selectFiltering(tx, fanOut, limit + 1);
  const ids = next.slice(0, limit);
  queueEvent(tx, fanOut, onlySeeing(tx, ids, fanOut.channelId, fanOut.happenedAt));
  const afterSubscription = ids.at(-1) ?? fanOut.afterSubscription;
  if (next.length > limit) {
    updateFanOut(tx, { ...fanOut, afterSubscription });
    return ids.length;
  }
  if (fanOut.afterChannel === fanOut.channelId) {
    deleteFanOut(tx, fanOut);
    return ids.length;
  }
  // Those for every channel are through.
  const inChannel = { ...fanOut, afterChannel: fanOut.channelId, afterSubscription: "" };
  return ids.length + continueFanOut(tx, inChannel, limit - ids.length);
}
