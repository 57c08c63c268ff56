import type { Connection } from "./database/database.ts";
import { secretTaken } from "./incoming-webhooks/ingest.ts";
import { selectWebhookSecrets } from "./incoming-webhooks/store.ts";
import { whyHeadersUnreadable } from "./subscriptions/headers.ts";
import { selectSubscriptionSecrets } from "./subscriptions/secret-store.ts";
import type { Vault } from "./secrets/vault.ts";

/** The number of webhooks that cannot work because their signing secrets or headers are unreadable, and the reason. */
export type UnreadableSecrets = { subscriptions: number; incoming_webhooks: number; reason: string };

/**
 * Tries to decrypt every signing secret in use, and the headers of subscriptions; undefined when all are readable. This lets the operator learn of a
 * lost key when the server starts, and not from users who miss their deliveries.
 */
export async function findUnreadableSecrets(
  db: Connection,
  vault: Vault,
): Promise<UnreadableSecrets | undefined> {
  const outgoing = (await selectSubscriptionSecrets(db)).map(
    (row) => vault.whyUnreadable(row.secret, `subscriptions:${row.id}`) ?? whyHeadersUnreadable(vault, row),
  );
  const incoming = (await selectWebhookSecrets(db)).map(({ id, secret }) =>
    secret === null ? secretTaken({ id }) : vault.whyUnreadable(secret, `incoming_webhooks:${id}`),
  );
  const reason = [...outgoing, ...incoming].find((text) => text !== undefined);
  if (reason === undefined) return undefined;
  const count = (reasons: Array<string | undefined>) => reasons.filter((text) => text !== undefined).length;
  return { subscriptions: count(outgoing), incoming_webhooks: count(incoming), reason };
}
