import { requireUnarchived } from "../channels/access.ts";
import type { Database, Connection, Transaction } from "../database/database.ts";
import { cached } from "../database/cached.ts";
import { DomainError, forbidden, notFound } from "../errors.ts";
import { isMember } from "../channels/member-store.ts";
import { appendMessage } from "../messages/append.ts";
import { firstPosted, keepKey, type Once } from "../messages/once.ts";
import type { Message } from "../messages/schemas.ts";
import { now } from "../system/repeatable.ts";
import type { TracedWork } from "../tracing/work.ts";
import type { Vault } from "../secrets/vault.ts";
import type { IncomingPayload } from "./payload.ts";
import { isValidSignature, type Proof } from "./signature.ts";
import { addressWorksUntil, isSigned, selectLiveWebhook } from "./store.ts";

const lookUpWebhook = cached((db, hash: string) => {
  const found = selectLiveWebhook(db, hash);
  return (
    found && {
      ...found,
      isMember: isMember(db, found.channel.id, found.bot.id),
      worksUntil: addressWorksUntil(found.webhook, hash),
    }
  );
});

type FoundWebhook = NonNullable<ReturnType<typeof lookUpWebhook>>;

/** A webhook with its bot and channel, and whether the bot is in the channel. */
export type LiveWebhook = Omit<FoundWebhook, "worksUntil">;

/**
 * Returns the webhook whose token has this hash, or had it before an overlap that lasts; undefined if there is none, it
 * is revoked, or its bot is deleted.
 */
export function findLiveWebhook(db: Connection, hash: string): LiveWebhook | undefined {
  const found = lookUpWebhook(db, hash);
  return found && (found.worksUntil === Number.POSITIVE_INFINITY || found.worksUntil > now())
    ? found
    : undefined;
}

/**
 * Returns the same webhook as `findLiveWebhook`.
 * @throws DomainError `not_found` when there is none any more.
 */
export function getLiveWebhook(db: Connection, hash: string): LiveWebhook {
  const found = findLiveWebhook(db, hash);
  if (!found) throw noWebhook();
  return found;
}

/** The error for a URL that belongs to no webhook. */
export function noWebhook(): DomainError {
  return notFound("incoming webhook");
}

/** Why a webhook that requires signatures rejects every request while its secret is missing from the database. */
export function secretTaken({ id }: { id: string }): string {
  return (
    "The webhook's signing secret is missing from the database, so no signature can be verified. Create a new one: " +
    `parley incoming-webhooks rotate-secret ${id}`
  );
}

/**
 * Verifies the signature over the raw body if the webhook requires one (specification part 5, rule 5). A sender may
 * prove in its own way that it knows the secret instead.
 * @throws DomainError `unauthenticated`, the same for a missing, malformed or wrong signature; `key_missing` when the
 *   secret is missing or cannot be decrypted.
 */
export function requireSignature(
  vault: Vault,
  { webhook }: LiveWebhook,
  headers: Headers,
  rawBody: Uint8Array,
  proof?: Proof,
): void {
  if (!isSigned(webhook)) return;
  if (webhook.secret === null) throw new DomainError("key_missing", secretTaken(webhook));
  const isSignedWith = (secret: string) =>
    isValidSignature(headers.get("x-signature-256"), rawBody, secret) ||
    proof?.isGiven(headers, rawBody, secret) === true;
  const place = `incoming_webhooks:${webhook.id}` as const;
  if (isSignedWith(vault.open(webhook.secret, place))) return;
  const { previousSecret, previousSecretUntil } = webhook;
  const isOverlap = previousSecret !== null && (previousSecretUntil ?? 0) > now();
  if (isOverlap && isSignedWith(vault.open(previousSecret, place))) return;
  throw new DomainError(
    "unauthenticated",
    proof?.remedy ??
      "Sign the raw body with the webhook's secret (HMAC-SHA256) and send the hex digest as X-Signature-256.",
    // Not a registered scheme, but a 401 must name one (RFC 9110, 11.6.1).
    { headers: { "www-authenticate": 'HMAC-SHA256 realm="parley"' } },
  );
}

/**
 * Posts what `read` returns into the webhook's channel as its bot and returns the message. Everything is checked again
 * inside the write, so that a webhook revoked a moment ago posts nothing.
 * @throws DomainError `not_found`; `forbidden` when the bot is not in the channel or the channel is archived; what
 *   `read` throws.
 */
export async function postIncoming(
  database: Database,
  hash: string,
  read: () => IncomingPayload,
  work?: TracedWork,
  once?: Once,
): Promise<Message> {
  return await database.write((tx) => appendIncoming(tx, getLiveWebhook(tx, hash), read, once), work);
}

/**
 * Posts what `read` returns into the webhook's channel as its bot and returns the message; with a key of `once` that was
 * used before, the message from that time.
 * @throws DomainError as `postIncoming`, without `not_found`.
 */
export function appendIncoming(
  tx: Transaction,
  { webhook, bot, channel, isMember }: LiveWebhook,
  read: () => IncomingPayload,
  once?: Once,
): Message {
  if (!isMember) throw forbidden("The webhook's bot is not a member of the channel.");
  requireUnarchived(channel);
  const { text, username, iconUrl } = read();
  const first = once && firstPosted(tx, once);
  if (first) return first;
  const message = appendMessage(tx, channel, bot, {
    type: "standard",
    body: text,
    username,
    iconUrl,
    incomingWebhookId: webhook.id,
  });
  if (once) keepKey(tx, once, message);
  return message;
}
