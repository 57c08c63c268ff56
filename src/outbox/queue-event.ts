import type { Transaction } from "../database/database.ts";
import { enqueue } from "./job-store.ts";

/**
 * Queues the event for each of the subscriptions, due at the time when it happened; the worker is notified after the
 * commit. `happenedAt` is in milliseconds since 1970.
 */
export function queueEvent(
  tx: Transaction,
  { eventSeq, happenedAt }: { eventSeq: number; happenedAt: number },
  subscriptionIds: readonly string[],
): void {
  for (const subscriptionId of subscriptionIds) {
    enqueue(tx, { subscriptionId, dueAt: happenedAt, eventSeq });
    tx.commit.subscriptionsWithWork.add(subscriptionId);
  }
}
