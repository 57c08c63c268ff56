import type { WebhookEvent } from "../events/event-types.ts";
import { timestamp } from "../timestamp.ts";
import type { WebhookSubscription } from "./schemas.ts";
import type { SubscriptionRow } from "./store.ts";

/** The subscription as the API shows it: without its secret. */
export function subscriptionResource(row: SubscriptionRow): WebhookSubscription {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    events: eventTypesOf(row),
    channel_ids: channelIdsOf(row),
    status: row.status,
    consecutive_failures: row.consecutiveFailures,
    last_success_at: timestamp(row.lastSuccessAt),
    disabled_at: timestamp(row.disabledAt),
    created_at: timestamp(row.createdAt),
  };
}

/** The event types that the subscription asks for. */
function eventTypesOf(row: SubscriptionRow): WebhookEvent[] {
  return row.events.split(" ") as WebhookEvent[];
}

/** The channels that it is restricted to, or null. */
function channelIdsOf(row: SubscriptionRow): string[] | null {
  return row.channelIds === null ? null : (JSON.parse(row.channelIds) as string[]);
}
