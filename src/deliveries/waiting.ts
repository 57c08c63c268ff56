import type { Connection } from "../database/database.ts";
import type { WebhookEvent } from "../event-types.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import {
  type QueuedJob,
  selectAhead,
  selectNextQueuedJobs,
  selectQueuedJobsByEvent,
} from "../outbox/job-store.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { timestamp } from "../timestamp.ts";

/** An event that waits to be sent to a subscription. */
export type WaitingEvent = {
  event_id: string;
  event_type: WebhookEvent;
  created_at: string;
  channel_id: string;
  /** The text of its message; null for an event that has none. */
  text: string | null;
  /** How many attempts have been made. */
  attempts: number;
  /** When the next attempt is or was due; null while the subscription is disabled. */
  next_due_at: string | null;
  /** Whether it is dropped and not sent, since the subscription's creator may not see its channel. */
  withheld: boolean;
};

/** The part of an envelope that is shown. */
type Envelope = { created_at: string; data: { channel_id: string; body?: string } };

/**
 * Returns what waits to be sent to the subscription, at most `limit` events: in the order in which they are due or,
 * while it is disabled, in that of the events, as they are sent once it is enabled.
 * @throws DomainError `not_found`.
 */
export async function listWaiting(
  db: Connection,
  teamId: string,
  subscriptionId: string,
  limit: number,
): Promise<WaitingEvent[]> {
  const { id, status } = await getSubscription(db, teamId, subscriptionId);
  return status === "disabled"
    ? selectQueuedJobsByEvent(db, id, limit).map(shown(db, null))
    : selectNextQueuedJobs(db, id, limit).map(shown(db, selectAhead(db)));
}

/** Shows a job. `aheadMs` is how far the clock of the queue is ahead; null where nothing is due. */
function shown(db: Connection, aheadMs: number | null): (job: QueuedJob) => WaitingEvent {
  return ({ subscriptionId, eventId, eventType, envelope, attempts, dueAt }) => {
    const { created_at, data } = JSON.parse(envelope) as Envelope;
    return {
      event_id: eventId,
      event_type: eventType,
      created_at,
      channel_id: data.channel_id,
      text: data.body ?? null,
      attempts,
      next_due_at: aheadMs === null ? null : timestamp(dueAt - aheadMs),
      withheld: isWithheld(db, subscriptionId, envelope),
    };
  };
}
