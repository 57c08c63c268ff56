import type { Transaction } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Vault } from "../secrets/vault.ts";
import { newSecret } from "../secrets/secret-text.ts";
import { listedSubscription } from "./resource.ts";
import type { ListedSubscription } from "./schemas.ts";
import { type Destination, updateSubscription } from "./store.ts";
import { getSubscription, recordSubscription } from "./subscriptions.ts";

/**
 * Gives the subscription a new signing secret, shown only here. With an overlap the old one signs too for so many
 * milliseconds, while the receiver changes over; without, it is dead at once.
 * @throws DomainError `not_found`; `key_missing` when the new secret cannot be kept, or the old one not be read for an
 *   overlap.
 */
export async function rotateSecret(
  tx: Transaction,
  vault: Vault,
  teamId: string,
  id: string,
  overlapMs: number,
  actor: string,
): Promise<ListedSubscription & { secret: string }> {
  const row = await getSubscription(tx, teamId, id);
  if (overlapMs > 0 && vault.whyUnreadable(row.secret, `subscriptions:${row.id}`) !== undefined) {
    throw new DomainError(
      "key_missing",
      "The old secret cannot be read, so it cannot sign beside the new one. Rotate without an overlap.",
    );
  }
  const secret = newSecret("whsec_");
  await updateSubscription(tx, row.id, {
    secret: await vault.seal(tx, secret, `subscriptions:${row.id}`),
    previousSecret: overlapMs > 0 ? row.secret : null,
    previousSecretUntil: overlapMs > 0 ? Date.now() + overlapMs : null,
  });
  const details = overlapMs > 0 ? { overlap_ms: overlapMs } : {};
  await recordSubscription(tx, row, "webhook.secret_rotated", actor, details);
  // What waited because the old one could not be read goes out under this one.
  tx.commit.subscriptionsWithWork.add(row.id);
  return { ...listedSubscription(row), secret };
}

/**
 * The secrets that sign for the subscription at this moment: the current one, and the one before while they overlap.
 * @throws DomainError `key_missing` when they cannot be read.
 */
export function signingSecrets(vault: Vault, row: Destination, now: number): string[] {
  const secrets = [vault.open(row.secret, `subscriptions:${row.id}`)];
  const overlaps = row.previousSecret !== null && (row.previousSecretUntil ?? 0) > now;
  if (overlaps && row.previousSecret) secrets.push(vault.open(row.previousSecret, `subscriptions:${row.id}`));
  return secrets;
}
