import type { Transaction } from "../database/database.ts";
import { revokeWebhooksOfBot } from "../incoming-webhooks/incoming-webhooks.ts";
import {
  disableSubscriptionsOf,
  listSubscriptionsOf,
  type NamedSubscription,
} from "../subscriptions/creators.ts";
import { revokeTokensOfUser } from "../tokens/tokens.ts";
import { updateDeactivatedAt, type UserRow } from "../users/store.ts";
import { now } from "../system/repeatable.ts";

export type RevokeOptions = { keepWebhooks?: boolean | undefined };

/** The subscriptions of a user who is gone: those disabled as a consequence, or those kept enabled. Absent if none. */
export type RevokedAccess = {
  disabled_webhooks?: NamedSubscription[];
  kept_webhooks?: NamedSubscription[];
};

/**
 * Deactivates a user: from the next request on, none of their tokens and incoming webhooks works. The audit log names
 * each token and webhook that this revokes and each subscription that it disables.
 */
export async function revokeAccess(
  tx: Transaction,
  user: UserRow,
  actor: string,
  { keepWebhooks = false }: RevokeOptions = {},
): Promise<RevokedAccess> {
  await updateDeactivatedAt(tx, user.id, now());
  await revokeWebhooksOfBot(tx, user.id, actor);
  await revokeTokensOfUser(tx, user.id, actor);
  const subscriptions = keepWebhooks
    ? await listSubscriptionsOf(tx, user, "active")
    : await disableSubscriptionsOf(tx, user, actor);
  if (subscriptions.length === 0) return {};
  return keepWebhooks ? { kept_webhooks: subscriptions } : { disabled_webhooks: subscriptions };
}
