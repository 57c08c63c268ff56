import { refuseArchived } from "../channels/visibility.ts";
import type { Database, Reading } from "../database/open.ts";
import { remembered } from "../database/remembered.ts";
import { DomainError, forbidden, notFound } from "../errors.ts";
import { isMember } from "../members/store.ts";
import { appendMessage } from "../messages/append.ts";
import type { Message } from "../messages/schemas.ts";
import type { Vault } from "../secrets/vault.ts";
import { hashOf, isSecretText } from "../tokens/secret-text.ts";
import { checkPayload } from "./payload.ts";
import { isValidSignature } from "./signature.ts";
import { selectLiveWebhook } from "./store.ts";

/** What a webhook is looked up by: the hash of the token in its address. Undefined for a token that is malformed. */
export function addressHash(token: string): string | undefined {
  return isSecretText(token) ? hashOf(token) : undefined;
}

/** The webhook of the address with this hash; undefined when there is none, it was revoked, or its bot is gone. */
export const findLiveWebhook = remembered((db, hash: string) => {
  const found = selectLiveWebhook(db, hash);
  return found && { ...found, isMember: isMember(db, found.channel.id, found.bot.id) };
});

export type LiveWebhook = NonNullable<ReturnType<typeof findLiveWebhook>>;

/**
 * The same where there was one a moment ago.
 * @throws DomainError `not_found`.
 */
export function getLiveWebhook(db: Reading, hash: string): LiveWebhook {
  const found = findLiveWebhook(db, hash);
  if (!found) throw noWebhook();
  return found;
}

/** The refusal of an address that is no webhook's. */
export function noWebhook(): DomainError {
  return notFound("incoming webhook");
}

/**
 * Checks the signature of a request to a webhook that has a signing secret, over the bytes as they came
 * (specification part 5, rule 5).
 * @throws DomainError `unauthenticated`, the same for a missing, malformed or mismatched one; `key_missing`.
 */
export function requireSignature(
  vault: Vault,
  { webhook }: LiveWebhook,
  header: string | null,
  rawBody: Uint8Array,
): void {
  if (webhook.secret === null) return;
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
    refuseArchived(channel);
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
