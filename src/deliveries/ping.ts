import type { Database } from "../database/database.ts";
import type { Vault } from "../secrets/vault.ts";
import { signingSecrets } from "../subscriptions/secrets.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { timestamp } from "../timestamp.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import { prepare } from "./prepare.ts";
import { newId } from "../system/repeatable.ts";
import { workspaceTime } from "../system/workspace-clock.ts";

/** The result of a ping. */
export type Pong = {
  succeeded: boolean;
  response_status: number | null;
  error: string | null;
  /** The first KiB of the response body; null when there was no response. */
  response: string | null;
  duration_ms: number;
};

/**
 * Sends one signed test request of type `ping`, also to a disabled subscription, and returns the outcome. It is not
 * logged and does not change the failure streak. A failed ping is a result, not an error.
 * @throws DomainError `not_found` when the team has no such subscription; `key_missing` when its secret cannot be
 *   decrypted to sign the request.
 */
export async function ping(
  { database, vault, outgoing }: { database: Database; vault: Vault; outgoing: Outgoing },
  teamId: string,
  id: string,
): Promise<Pong> {
  const row = await database.ask((db) => getSubscription(db, teamId, id));
  const now = workspaceTime();
  const envelope = {
    id: newId(),
    type: "ping",
    created_at: timestamp(now),
    data: { webhook_id: row.id },
  };
  const message = { id: envelope.id, type: envelope.type, envelope: JSON.stringify(envelope) };
  const outcome = await attempt(outgoing, row.url, prepare(message, signingSecrets(vault, row, now), now));
  return {
    succeeded: outcome.kind === "succeeded",
    response_status: outcome.status,
    error: outcome.error,
    response: outcome.responseStart === null ? null : new TextDecoder().decode(outcome.responseStart),
    duration_ms: outcome.durationMs,
  };
}
