import { record } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import { DomainError, notFound } from "../errors.ts";
import { selectEvent } from "../outbox/event-store.ts";
import type { Vault } from "../secrets/vault.ts";
import type { TracedWork } from "../tracing/work.ts";
import type { WebhookDelivery } from "../subscriptions/schemas.ts";
import { credentialsOf } from "../subscriptions/secrets.ts";
import { isWithheld } from "../outbox/creator-visibility.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import { deliveryResource } from "./attempt-log.ts";
import { prepare } from "./prepare.ts";
import { logEntry } from "./settle.ts";
import { insertAttempt, selectAttempt } from "./attempt-store.ts";
import { newId } from "../system/repeatable.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/**
 * Sends the payload of an earlier attempt again, exactly once: the same envelope with the same id, signed with the
 * current secret, also to a disabled subscription. The failure streak does not change; the new attempt is logged as a
 * replay and audited (specification part 6, rule 5). Returns the new attempt, whether it succeeded or not. In a trace
 * it is part of `work`, the command, and linked to the trace of the event: that may be weeks old.
 * @throws DomainError `not_found` when the team's delivery log has no such attempt or its subscription was deleted;
 *   `conflict` when the payload is no longer stored; `forbidden` when, with `WEBHOOKS_VISIBILITY=creator`, the
 *   subscription's creator cannot see the channel now; `key_missing` when the request cannot be signed; `busy` when the
 *   server had no descriptor, port or memory left, or was paused meanwhile: then nothing is logged.
 */
export async function replay(
  {
    database,
    vault,
    outgoing,
    work,
  }: { database: Database; vault: Vault; outgoing: Outgoing; work?: TracedWork | undefined },
  teamId: string,
  attemptId: string,
  actor: string,
): Promise<WebhookDelivery & { replay: true }> {
  const found = await database.ask((db) => selectAttempt(db, teamId, attemptId.toLowerCase()));
  if (!found) throw notFound("delivery");
  const { attempt: original, subscription } = found;
  if (subscription.deletedAt !== null)
    throw new DomainError("not_found", "The delivery's subscription was deleted.");
  const { eventSeq, eventId } = original;
  const event = await database.ask((db) => selectEvent(db, eventSeq));
  if (!event) {
    throw new DomainError(
      "conflict",
      "The payload of this delivery is no longer stored, so it cannot be replayed.",
    );
  }

  if (await database.ask((db) => isWithheld(db, subscription.id, event.envelope))) {
    throw new DomainError(
      "forbidden",
      `${subscription.name} does not receive this event: its creator cannot see the event's channel ` +
        "(WEBHOOKS_VISIBILITY=creator).",
    );
  }

  const credentials = credentialsOf(vault, subscription, workspaceTime());
  const message = { id: eventId, type: event.type, envelope: event.envelope, eventSeq };
  const destination = {
    url: subscription.url,
    subscriptionId: subscription.id,
    eventId,
    eventType: event.type,
  };
  const traced = work?.beginAttempt(destination, event.traceparent);
  const request = prepare(message, credentials, workspaceTime(), traced?.traceparent);
  const outcome = await attempt(outgoing, subscription.url, request);
  traced?.answered(outcome);
  if (outcome.kind === "own_fault") {
    throw new DomainError("busy", `The delivery was not replayed: ${outcome.error}. Try again in a moment.`);
  }

  const sent = { eventSeq, eventId, eventType: event.type, subscriptionId: subscription.id };
  const row = { id: newId(), ...logEntry(sent, outcome, workspaceTime()), isReplay: true };
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
  traced?.end(row.id);
  return { ...deliveryResource(row), replay: true };
}
