import type { Connection } from "../database/database.ts";
import { selectEvent } from "../outbox/event-store.ts";
import { notFound } from "../errors.ts";
import { headerNamesOf } from "../subscriptions/headers.ts";
import type { WebhookDelivery } from "../subscriptions/schemas.ts";
import { timestamp } from "../timestamp.ts";
import { unsignedHeaders } from "./prepare.ts";
import { type AttemptRow, selectAttempt, selectLatestAttempts } from "./attempt-store.ts";

/** One attempt with everything that is stored about it, for the operator. */
export type AttemptShown = WebhookDelivery & {
  replay: boolean;
  duration_ms: number;
  webhook: { id: string; name: string; url: string };
  /**
   * What was sent. Signatures and their timestamps are never stored, and headers of one's own are those of today, without
   * their values; `body` is null once retention has deleted it.
   */
  request: { headers: Record<string, string>; body: string | null };
  /** The first KiB of the response body; null when there was no response. */
  response: string | null;
};

/** Returns the subscription's latest attempts, newest first, at most `limit`. */
export async function listLatestAttempts(
  db: Connection,
  subscriptionId: string,
  limit: number,
): Promise<WebhookDelivery[]> {
  return (await selectLatestAttempts(db, subscriptionId, limit)).map(deliveryResource);
}

/**
 * Returns the attempt with what was sent and received, as far as it is stored.
 * @throws DomainError `not_found` when the team's delivery log has no attempt with this id.
 */
export async function showAttempt(db: Connection, teamId: string, id: string): Promise<AttemptShown> {
  const found = await selectAttempt(db, teamId, id.toLowerCase());
  if (!found) throw notFound("delivery");
  const { attempt, subscription } = found;
  const event = await selectEvent(db, attempt.eventSeq);
  return {
    ...deliveryResource(attempt),
    replay: attempt.isReplay,
    duration_ms: attempt.durationMs,
    webhook: { id: subscription.id, name: subscription.name, url: subscription.url },
    request: {
      headers: {
        ...unsignedHeaders({ id: attempt.eventId, type: attempt.eventType, eventSeq: attempt.eventSeq }),
        "x-service-signature": "(not kept)",
        "webhook-timestamp": "(not kept)",
        "webhook-signature": "(not kept)",
        ...Object.fromEntries(headerNamesOf(subscription).map((name) => [name, "(never shown)"])),
      },
      body: event?.envelope ?? null,
    },
    response: attempt.responseStart === null ? null : new TextDecoder().decode(attempt.responseStart),
  };
}

/** Returns the attempt in the form that the API shows. */
export function deliveryResource(row: Omit<AttemptRow, "seq" | "responseStart">): WebhookDelivery {
  return {
    id: row.id,
    event_type: row.eventType,
    event_id: row.eventId,
    succeeded: row.succeeded,
    response_status: row.responseStatus,
    error: row.error,
    created_at: timestamp(row.createdAt),
  };
}
