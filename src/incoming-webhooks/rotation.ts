import type { Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import { hashOf, newSecret } from "../secrets/secret-text.ts";
import type { Vault } from "../secrets/vault.ts";
import { now } from "../system/repeatable.ts";
import { signedHashOf } from "./address-hash.ts";
import {
  getIncomingWebhook,
  type IncomingWebhook,
  recordWebhook,
  webhookResource,
} from "./incoming-webhooks.ts";
import { markRefusedPostsSuperseded } from "./refused-store.ts";
import { isSigned, updateIncomingWebhook } from "./store.ts";

/**
 * Replaces the address and returns the webhook with the token of the new one, which exists in plain text only here. The
 * old address works for `overlapMs` milliseconds more, while the sender is changed; with 0 it stops working immediately,
 * and so does one that an earlier rotation left.
 * @throws DomainError `not_found`.
 */
export async function rotateIncomingAddress(
  tx: Transaction,
  teamId: string,
  id: string,
  actor: string,
  overlapMs = 0,
): Promise<IncomingWebhook & { token: string }> {
  const { webhook, bot, channel } = await getIncomingWebhook(tx, teamId, id);
  const token = newSecret("ply_in_");
  const change = {
    tokenHash: isSigned(webhook) ? signedHashOf(hashOf(token)) : hashOf(token),
    previousTokenHash: overlapMs > 0 ? webhook.tokenHash : null,
    previousTokenUntil: overlapMs > 0 ? now() + overlapMs : null,
  };
  await updateIncomingWebhook(tx, webhook.id, change);
  // Where the address alone lets posts in, it may have been replaced because others knew it.
  if (overlapMs === 0 && !isSigned(webhook)) await markRefusedPostsSuperseded(tx, webhook.id);
  await recordWebhook(tx, webhook, "incoming_webhook.address_rotated", actor, detailsOf(overlapMs));
  return { ...webhookResource({ ...webhook, ...change }, bot, channel), token };
}

/**
 * Replaces the signing secret and returns the webhook with the new one, which exists in plain text only here. The old one
 * is accepted for `overlapMs` milliseconds more; with 0 it stops working immediately. A webhook that took unsigned
 * requests requires signatures from now on.
 * @throws DomainError `not_found`; `conflict` for an overlap with unsigned requests, which anybody could make; `key_missing`
 *   when the secret cannot be encrypted, or the old one cannot be read for an overlap.
 */
export async function rotateIncomingSecret(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  id: string,
  actor: string,
  overlapMs = 0,
): Promise<IncomingWebhook & { secret: string }> {
  const { webhook, bot, channel } = await getIncomingWebhook(tx, teamId, id);
  const place = `incoming_webhooks:${webhook.id}` as const;
  if (overlapMs > 0) requireOverlapPossible(vault, webhook.secret, place);
  const secret = newSecret("whsec_");
  const change = {
    secret: await vault.seal(tx, secret, place),
    tokenHash: signedHashOf(webhook.tokenHash),
    previousTokenHash: webhook.previousTokenHash && signedHashOf(webhook.previousTokenHash),
    previousSecret: overlapMs > 0 ? webhook.secret : null,
    previousSecretUntil: overlapMs > 0 ? now() + overlapMs : null,
  };
  await updateIncomingWebhook(tx, webhook.id, change);
  // Whoever knew the old secret, or none, must not get in by way of a post that is kept.
  if (overlapMs === 0) await markRefusedPostsSuperseded(tx, webhook.id);
  await recordWebhook(tx, webhook, "incoming_webhook.secret_rotated", actor, detailsOf(overlapMs));
  return { ...webhookResource({ ...webhook, ...change }, bot, channel), secret };
}

function requireOverlapPossible(vault: Vault, secret: Buffer | null, place: `${string}:${string}`): void {
  if (secret === null) {
    throw new DomainError(
      "conflict",
      "The webhook has no secret yet, and in an overlap anybody could post without one. Set it without --overlap.",
    );
  }
  if (vault.whyUnreadable(secret, place) !== undefined) {
    throw new DomainError(
      "key_missing",
      "The old secret cannot be read, so it cannot be accepted beside the new one. Rotate without an overlap.",
    );
  }
}

function detailsOf(overlapMs: number): { overlap_ms?: number } {
  return overlapMs > 0 ? { overlap_ms: overlapMs } : {};
}
