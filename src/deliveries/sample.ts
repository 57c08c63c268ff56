import type { WebhookEvent } from "../event-types.ts";
import { credentialsOf } from "../subscriptions/secrets.ts";
import { prepare } from "./prepare.ts";
import { sendTestRequests, type TestAnswer, testMessage, type TestParts } from "./test-request.ts";

/** A sample that was sent: the envelope's id, and how the receiver answered. */
export type SentSample = { event_id: string; event_type: WebhookEvent } & TestAnswer;

/**
 * Sends a made-up event to the subscription's receiver, whichever events it subscribes to and also if it is disabled.
 * The envelope has `"sample": true`, which is signed like all of it. It is not logged and does not change the failure
 * streak.
 * @throws DomainError `not_found` when the team has no such subscription; `key_missing` when its secret cannot be read.
 */
export async function sendSample(
  parts: TestParts,
  teamId: string,
  id: string,
  { type, data }: { type: WebhookEvent; data: unknown },
): Promise<SentSample> {
  let event_id = "";
  const [answer] = await sendTestRequests(parts, teamId, id, (row, now) => {
    const message = testMessage(type, data, now, { sample: true });
    event_id = message.id;
    return [prepare(message, credentialsOf(parts.vault, row, now), now)];
  });
  return { event_id, event_type: type, ...(answer as TestAnswer) };
}
