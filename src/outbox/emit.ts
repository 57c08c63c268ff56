import type { ChannelRow } from "../channels/store.ts";
import type { Transaction } from "../database/database.ts";
import { beginFanOut, hasFanOuts } from "./fan-outs.ts";
import { queueEvent } from "./queue-event.ts";
import { onlySeeing } from "./creator-visibility.ts";
import type { WebhookEvent } from "../event-types.ts";
import { insertEvent, queuedWithEventMax, selectMatchingSubscriptions } from "./event-store.ts";

/** What happened, as the `type` and the `data` of the envelope. Each domain says what its own events hold. */
export type DomainEvent = { type: WebhookEvent; data: object };

/**
 * Records what happened in the channel and queues it for every subscription that wants it, in the transaction of the
 * change itself: both are on disk or neither. For one that is disabled it waits. Where more than a hundred want it, or
 * earlier events of the team are still being queued, a fan-out is begun in their place, which queues it after the commit.
 * What nobody wants is not kept. One event has one id, for every subscription, retry and replay (specification part 6).
 */
export function emit<Event extends DomainEvent>(tx: Transaction, channel: ChannelRow, event: Event): void {
  const wanting = selectMatchingSubscriptions(tx, channel.teamId, event.type, channel.id);
  const isForMany = wanting.length > queuedWithEventMax;
  // Of many only the first are known here; who of them may see the channel is asked when their turn comes.
  const wanted = isForMany ? wanting : onlySeeing(tx, wanting, channel.id);
  if (wanted.length === 0) return;

  const happenedAt = Date.now();
  const data = JSON.stringify(event.data);
  const row = { id: Bun.randomUUIDv7(), type: event.type, data, createdAt: happenedAt };
  const eventSeq = insertEvent(tx, row);
  // What is still being queued comes first, so that each subscription gets its events in their order.
  if (isForMany || hasFanOuts(tx, channel.teamId))
    beginFanOut(tx, { teamId: channel.teamId, channelId: channel.id, eventSeq });
  else queueEvent(tx, { eventSeq, happenedAt }, wanted);
}
