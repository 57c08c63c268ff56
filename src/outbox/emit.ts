import type { ChannelRow } from "../channels/store.ts";
import type { Transaction } from "../database/database.ts";
import { beginFanOut, hasFanOuts } from "./fan-outs.ts";
import { filterAllowed } from "./creator-visibility.ts";
import type { WebhookEvent } from "../event-types.ts";
import { insertEvent, selectMatchingSubscriptions } from "./event-store.ts";
import { newId, now } from "../system/repeatable.ts";

/** The `type` and `data` of an event's envelope. Each domain declares the data of its own events. */
export type DomainEvent = { type: WebhookEvent; data: object };

/**
 * Stores an event in the channel and queues it for every matching subscription, in the transaction of the change
 * itself: either both are on disk or neither is. For a disabled subscription the event waits. If more than a hundred
 * subscriptions match, or earlier events of the team are still being queued, it starts a fan-out that queues the event
 * after the commit. An event without subscriptions is not stored; one that is only read has no jobs. An event has one id across all subscriptions,
 * retries and replays (specification part 6).
 */
export function emit<Event extends DomainEvent>(tx: Transaction, channel: ChannelRow, event: Event): void {
  const matching = selectMatchingSubscriptions(tx, channel.teamId, event.type, channel.id);
  const { isForMany } = matching;
  // Of a large number only the first are known here; the fan-out checks which of them may see the channel.
  const subscriptionIds = isForMany ? matching.sentTo : filterAllowed(tx, matching.sentTo, channel.id);
  const readBy = filterAllowed(tx, matching.readBy, channel.id);
  if (subscriptionIds.length === 0 && readBy.length === 0 && !isForMany) return;

  const data = JSON.stringify(event.data);
  const { traceparent } = tx.commit;
  const row = { id: newId(), type: event.type, data, createdAt: now(), traceparent };
  // Events still being queued go first, so that each subscription receives its events in order.
  if (isForMany || (subscriptionIds.length > 0 && hasFanOuts(tx, channel.teamId)))
    beginFanOut(tx, { teamId: channel.teamId, channelId: channel.id, eventSeq: insertEvent(tx, row) });
  else tx.commit.appended.events.push({ row, seq: 0, subscriptionIds, readBy });
}
