import type { Connection, Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Vault } from "../secrets/vault.ts";
import { newSecret } from "../secrets/secret-text.ts";
import { listedSubscription } from "./resource.ts";
import type { ListedSubscription } from "./schemas.ts";
import { checkedSecret } from "./own-secret.ts";
import { openHeaders, type OwnHeaders } from "./headers.ts";
import { type Destination, updateSubscription } from "./store.ts";
import { getSubscription, recordSubscription } from "./subscriptions.ts";
import { now } from "../system/repeatable.ts";

/**
 * Gives the subscription a new signing secret, `ownSecret` or one that is made, which is shown only here. The old secret
 * keeps signing as well for `overlapMs` milliseconds, while the receiver switches over; with 0 it stops working
 * immediately.
 * @throws DomainError `not_found`; `invalid` for a secret that cannot sign or is weak; `key_missing` when the new secret cannot be stored, or the old one cannot be read
 *   for an overlap.
 */
export async function rotateSecret(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  id: string,
  overlapMs: number,
  actor: string,
  ownSecret?: string,
): Promise<ListedSubscription & { secret: string }> {
  const row = await getSubscription(tx, teamId, id);
  if (overlapMs > 0 && vault.whyUnreadable(row.secret, `subscriptions:${row.id}`) !== undefined) {
    throw new DomainError(
      "key_missing",
      "The old secret cannot be read, so it cannot sign alongside the new one. Rotate without an overlap.",
    );
  }
  const secret = ownSecret === undefined ? newSecret("whsec_") : checkedSecret(ownSecret);
  await updateSubscription(tx, row.id, {
    secret: await vault.seal(tx, secret, `subscriptions:${row.id}`),
    previousSecret: overlapMs > 0 ? row.secret : null,
    previousSecretUntil: overlapMs > 0 ? now() + overlapMs : null,
  });
  const details = overlapMs > 0 ? { overlap_ms: overlapMs } : {};
  await recordSubscription(tx, row, "webhook.secret_rotated", actor, details);
  // Deliveries that waited because the old secret was unreadable are sent with the new one.
  tx.commit.subscriptionsWithWork.add(row.id);
  return { ...listedSubscription(row), secret };
}

/**
 * Whether the old secret signs as well, alongside the new one.
 * @throws DomainError `not_found`.
 */
export async function hasOverlap(db: Connection, teamId: string, id: string): Promise<boolean> {
  return isOverlapping(await getSubscription(db, teamId, id), now());
}

/**
 * Ends the overlap of a rotation: the old secret signs no more. `sealedSecret` is the new one as it is stored, so that no
 * other rotation is ended.
 * @throws DomainError `not_found`; `conflict` when the secret is another one by now.
 */
export async function endOverlap(
  tx: Transaction,
  teamId: string,
  id: string,
  sealedSecret: Buffer,
  actor: string,
): Promise<ListedSubscription> {
  const row = await getSubscription(tx, teamId, id);
  if (!row.secret.equals(sealedSecret)) {
    throw new DomainError("conflict", "The secret was replaced or encrypted anew meanwhile. Run this again.");
  }
  await updateSubscription(tx, row.id, { previousSecret: null, previousSecretUntil: null });
  await recordSubscription(tx, row, "webhook.secret_proven", actor);
  return listedSubscription(row);
}

function isOverlapping(row: Destination, now: number): boolean {
  return row.previousSecret !== null && (row.previousSecretUntil ?? 0) > now;
}

/**
 * What requests to a receiver are made with: the secrets that sign them, the current one first, and the headers of the
 * subscription's own.
 */
export type Credentials = { secrets: readonly string[]; headers: OwnHeaders };

/**
 * The subscription's headers, and the secrets that sign for it now: the current one, and the previous one during an
 * overlap.
 * @throws DomainError `key_missing` when one of them cannot be read.
 */
export function credentialsOf(vault: Vault, row: Destination, now: number): Credentials {
  return { secrets: signingSecrets(vault, row, now), headers: openHeaders(vault, row) };
}

function signingSecrets(vault: Vault, row: Destination, now: number): string[] {
  const secrets = [vault.open(row.secret, `subscriptions:${row.id}`)];
  if (row.previousSecret !== null && isOverlapping(row, now))
    secrets.push(vault.open(row.previousSecret, `subscriptions:${row.id}`));
  return secrets;
}
