import type { ChannelRow } from "../channels/store.ts";
import type { Writing } from "../database/open.ts";
import { enqueue } from "../jobs/store.ts";
import { onlySeeing } from "../subscriptions/visibility.ts";
import type { Happening } from "./schemas.ts";
import { insertEvent, selectWantingSubscriptions } from "./store.ts";

/**
 * Records what happened in the channel and queues it for every subscription that wants it, in the transaction of the
 * change itself: both are on disk or neither. For one that is disabled it waits. What nobody wants is not kept. One event has one id, for every
 * subscription, retry and replay (specification part 6).
 */
export function emit(tx: Writing, channel: ChannelRow, happening: Happening): void {
  const wanting = selectWantingSubscriptions(tx, channel.teamId, happening.type, channel.id);
  const wanted = onlySeeing(tx, wanting, channel.id);
  if (wanted.length === 0) return;

  const now = Date.now();
  const data = JSON.stringify(happening.data);
  const eventSeq = insertEvent(tx, { id: Bun.randomUUIDv7(), type: happening.type, data, createdAt: now });
  for (const subscriptionId of wanted) {
    enqueue(tx, { subscriptionId, dueAt: now, eventSeq });
    tx.commit.woken.add(subscriptionId);
  }
}
