import type { Connection } from "../database/database.ts";
import { subscriptionResource } from "../subscriptions/resource.ts";
import type { WebhookDelivery, WebhookSubscription } from "../subscriptions/schemas.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { listLatestAttempts } from "./attempt-log.ts";

/** How many of the latest attempts are shown with a subscription (specification part 8). */
const attemptsShown = 20;

/**
 * Returns the subscription with its 20 latest attempts, newest first.
 * @throws DomainError `not_found` when the team has no such subscription.
 */
export async function showSubscription(
  db: Connection,
  teamId: string,
  id: string,
): Promise<WebhookSubscription & { deliveries: WebhookDelivery[] }> {
  const row = await getSubscription(db, teamId, id);
  return { ...subscriptionResource(row), deliveries: await listLatestAttempts(db, row.id, attemptsShown) };
}
