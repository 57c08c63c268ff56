import { record } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import { DomainError, notFound } from "../errors.ts";
import { selectEvent } from "../outbox/event-store.ts";
import type { Vault } from "../secrets/vault.ts";
import type { WebhookDelivery } from "../subscriptions/schemas.ts";
import { signingSecrets } from "../subscriptions/secrets.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import { deliveryResource } from "./attempts.ts";
import { prepare } from "./prepare.ts";
import { logged } from "./settle.ts";
import { insertAttempt, selectAttempt } from "./store.ts";

/**
 * Sends what an attempt sent once more, now and only once: the same envelope with the same id, signed with the current
 * secret, also to a disabled subscription. The streak of failures stays as it is; the new attempt is logged as a replay
 * and audited (specification part 6, rule 5). Returns the new attempt.
 * @throws DomainError `not_found` for an attempt that is not in the team's log or whose subscription is deleted;
 *   `forbidden` when the subscription's creator may not see the channel where deliveries go by that; `conflict` when its
 *   payload is no longer stored; `key_missing` when it cannot be signed; `busy` when this
 *   machine had nothing left to send it with.
 */
export async function replay(
  { database, vault, outgoing }: { database: Database; vault: Vault; outgoing: Outgoing },
  teamId: string,
  attemptId: string,
  actor: string,
): Promise<WebhookDelivery & { replay: true }> {
  const found = await selectAttempt(database.read, teamId, attemptId.toLowerCase());
  if (!found) throw notFound("delivery");
  const { attempt: original, subscription } = found;
  if (subscription.deletedAt !== null)
    throw new DomainError("not_found", "The delivery's subscription was deleted.");
  const { eventSeq, eventId } = original;
  const event = await selectEvent(database.read, eventSeq);
  if (!event) {
    throw new DomainError(
      "conflict",
      "The payload of this delivery is no longer stored, so it cannot be sent again.",
    );
  }

  if (isWithheld(database.read, subscription.id, event.envelope)) {
    throw new DomainError(
      "forbidden",
      `${subscription.name} is not sent this: whoever created it may not see the channel now (WEBHOOKS_VISIBILITY=creator).`,
    );
  }

  const secrets = signingSecrets(vault, subscription, Date.now());
  const notice = { id: eventId, type: event.type, envelope: event.envelope };
  const outcome = await attempt(outgoing, subscription.url, prepare(notice, secrets, Date.now()));
  if (outcome.kind === "own_fault") {
    throw new DomainError(
      "busy",
      `The delivery was not sent again: ${outcome.error}. Try again in a moment.`,
    );
  }

  const sent = { eventSeq, eventId, eventType: event.type, subscriptionId: subscription.id };
  const row = { id: Bun.randomUUIDv7(), ...logged(sent, outcome, Date.now()), isReplay: true };
  await database.write(async (tx) => {
    insertAttempt(tx, row);
    await record(tx, {
      teamId,
      actor,
      action: "delivery.replayed",
      target: `delivery:${original.id}`,
      details: { webhook: subscription.id, replay: row.id, succeeded: row.succeeded },
    });
  });
  return { ...deliveryResource(row), replay: true };
}
