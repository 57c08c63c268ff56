import type { Database } from "../database/database.ts";
import { DomainError } from "../errors.ts";
import type { Vault } from "../secrets/vault.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { newId } from "../system/repeatable.ts";
import { workspaceTime } from "../system/workspace-clock.ts";
import { timestamp } from "../timestamp.ts";
import { attempt, type Outgoing } from "./attempt.ts";
import type { PreparedRequest, WebhookMessage } from "./prepare.ts";

/** What test requests need of the server's data and settings. */
export type TestParts = { database: Database; vault: Vault; outgoing: Outgoing };

/** How a receiver answered a test request. */
export type TestAnswer = {
  succeeded: boolean;
  response_status: number | null;
  error: string | null;
  /** The first KiB of the response body; null when there was no response. */
  response: string | null;
  duration_ms: number;
};

/**
 * Sends requests that `make` prepares to the subscription's receiver, also if it is disabled, one after the other, and
 * returns the answers in this order. They are not logged and do not change the failure streak; a failed request is a
 * result, not an error.
 * @throws DomainError `not_found` when the team has no such subscription; `conflict` when it has no URL; what `make`
 *   throws.
 */
export async function sendTestRequests(
  { database, outgoing }: TestParts,
  teamId: string,
  id: string,
  make: (row: SubscriptionRow, now: number) => readonly PreparedRequest[],
): Promise<TestAnswer[]> {
  const row = await database.ask((db) => getSubscription(db, teamId, id));
  if (row.url === "")
    throw new DomainError("conflict", `${row.name} has no URL: its events are read, and nothing is sent.`);
  const answers: TestAnswer[] = [];
  for (const request of make(row, workspaceTime())) answers.push(await sent(outgoing, row.url, request));
  return answers;
}

/** Returns a message with a new id, as one that is no event: `more` joins its envelope. */
export function testMessage(type: string, data: unknown, now: number, more: object = {}): WebhookMessage {
  const envelope = { id: newId(), type, created_at: timestamp(now), data, ...more };
  return { id: envelope.id, type, envelope: JSON.stringify(envelope) };
}

async function sent(outgoing: Outgoing, url: string, request: PreparedRequest): Promise<TestAnswer> {
  const outcome = await attempt(outgoing, url, request);
  return {
    succeeded: outcome.kind === "succeeded",
    response_status: outcome.status,
    error: outcome.error,
    response: outcome.responseStart === null ? null : new TextDecoder().decode(outcome.responseStart),
    duration_ms: outcome.durationMs,
  };
}
