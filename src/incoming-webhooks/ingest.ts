import { requireUnarchived } from "../channels/visibility.ts";
import type { Database, Connection } from "../database/database.ts";
import { cached } from "../database/cached.ts";
import { DomainError, forbidden, notFound } from "../errors.ts";
import { isMember } from "../channels/member-store.ts";
import { appendMessage } from "../messages/append.ts";
import type { Message } from "../messages/schemas.ts";
import type { Vault } from "../secrets/vault.ts";
import { checkPayload } from "./payload.ts";
import { isValidSignature } from "./signature.ts";
import { isSigned, selectLiveWebhook } from "./store.ts";

/** The webhook of the address with this hash; undefined when there is none, it was revoked, or its bot is gone. */
export const findLiveWebhook = cached((db, hash: string) => {
  const found = selectLiveWebhook(db, hash);
  return found && { ...found, isMember: isMember(db, found.channel.id, found.bot.id) };
});

export type LiveWebhook = NonNullable<ReturnType<typeof findLiveWebhook>>;

/**
 * The same where there was one a moment ago.
 * @throws DomainError `not_found`.
 */
export function getLiveWebhook(db: Connection, hash: string): LiveWebhook {
  const found = findLiveWebhook(db, hash);
  if (!found) throw noWebhook();
  return found;
}

/** The refusal of an address that is no webhook's. */
export function noWebhook(): DomainError {
  return notFound("incoming webhook");
}

/** Why the webhook, which takes signed requests only, takes none while its secret is not in the database. */
export function secretTaken({ id }: { id: string }): string {
  return (
    "The webhook's signing secret was taken out of the database, so no signature can be checked. Make a new one: " +
    `parley incoming-webhooks rotate-secret ${id}`
  );
}

/**
 * Checks the signature of a request to a webhook that takes signed ones only, over the bytes as they came
 * (specification part 5, rule 5).
 * @throws DomainError `unauthenticated`, the same for a missing, malformed or mismatched one; `key_missing`.
 */
export function requireSignature(
  vault: Vault,
  { webhook }: LiveWebhook,
  header: string | null,
  rawBody: Uint8Array,
): void {
  if (!isSigned(webhook)) return;
  if (webhook.secret === null) throw new DomainError("key_missing", secretTaken(webhook));
  const secret = vault.open(webhook.secret, `incoming_webhooks:${webhook.id}`);
  if (isValidSignature(header, rawBody, secret)) return;
  throw new DomainError(
    "unauthenticated",
    "Sign the raw body with the webhook's secret (HMAC-SHA256) and send the hex digest as X-Signature-256.",
    // No registered scheme, but a 401 names the one that it wants (RFC 9110, 11.6.1).
    { headers: { "www-authenticate": 'HMAC-SHA256 realm="parley"' } },
  );
}

/**
 * Posts what was sent to the webhook into its channel as its bot. Everything is looked at again in the write, so that a
 * webhook revoked a moment ago posts nothing.
 * @throws DomainError `not_found`; `forbidden` when the bot is not in the channel or that is archived; `invalid`.
 */
export async function postIncoming(database: Database, hash: string, payload: unknown): Promise<Message> {
  return await database.write((tx) => {
    const { webhook, bot, channel, isMember } = getLiveWebhook(tx, hash);
    if (!isMember) throw forbidden("The webhook's bot is not a member of the channel.");
    requireUnarchived(channel);
    const { text, username, iconUrl } = checkPayload(payload);
    return appendMessage(tx, channel, bot, {
      type: "standard",
      body: text,
      username,
      iconUrl,
      incomingWebhookId: webhook.id,
    });
  });
}
