import type { WebhookEvent } from "../event-types.ts";
import { timestamp } from "../timestamp.ts";
import { headerNamesOf } from "./headers.ts";
import type { ListedSubscription, WebhookSubscription } from "./schemas.ts";
import type { SubscriptionRow } from "./store.ts";

/** The subscription as the API returns it: without its secret and the values of its headers. */
export function subscriptionResource(row: SubscriptionRow): WebhookSubscription {
  return {
    id: row.id,
    name: row.name,
    url: row.url === "" ? null : row.url,
    events: eventTypesOf(row),
    channel_ids: channelIdsOf(row),
    header_names: headerNamesOf(row),
    status: row.status,
    consecutive_failures: row.consecutiveFailures,
    last_success_at: timestamp(row.lastSuccessAt),
    disabled_at: timestamp(row.disabledAt),
    created_at: timestamp(row.createdAt),
  };
}

/** The subscription as the command line shows it: with its creator as in the audit log, or `unknown`. */
export function listedSubscription(row: SubscriptionRow): ListedSubscription {
  return { ...subscriptionResource(row), created_by: row.createdBy ?? "unknown" };
}

/** The event types that the subscription receives. */
function eventTypesOf(row: SubscriptionRow): WebhookEvent[] {
  return row.events.split(" ") as WebhookEvent[];
}

/** The channels that the subscription is restricted to; null for all. */
function channelIdsOf(row: SubscriptionRow): string[] | null {
  return row.channelIds === null ? null : (JSON.parse(row.channelIds) as string[]);
}
