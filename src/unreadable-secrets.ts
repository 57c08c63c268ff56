import type { Connection } from "./database/database.ts";
import { secretTaken } from "./incoming-webhooks/ingest.ts";
import { selectWebhookSecrets } from "./incoming-webhooks/store.ts";
import { selectSubscriptionSecrets } from "./subscriptions/store.ts";
import type { Vault } from "./secrets/vault.ts";

/** How many webhooks cannot work because their signing secret cannot be read, and why. */
export type UnreadableSecrets = { subscriptions: number; incoming_webhooks: number; reason: string };

/**
 * Tries every signing secret that is in use; undefined when each can be read. An operator should hear of a lost key when
 * the server starts and not from those who miss their deliveries.
 */
export async function findUnreadableSecrets(
  db: Connection,
  vault: Vault,
): Promise<UnreadableSecrets | undefined> {
  const outgoing = (await selectSubscriptionSecrets(db)).map(({ id, secret }) =>
    vault.whyUnreadable(secret, `subscriptions:${id}`),
  );
  const incoming = (await selectWebhookSecrets(db)).map(({ id, secret }) =>
    secret === null ? secretTaken({ id }) : vault.whyUnreadable(secret, `incoming_webhooks:${id}`),
  );
  const reason = [...outgoing, ...incoming].find((why) => why !== undefined);
  if (reason === undefined) return undefined;
  const count = (reasons: Array<string | undefined>) => reasons.filter((why) => why !== undefined).length;
  return { subscriptions: count(outgoing), incoming_webhooks: count(incoming), reason };
}
