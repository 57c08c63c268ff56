import { cursorOf, markOf } from "../outbox/cursor.ts";
import type { OwnHeaders } from "../subscriptions/headers.ts";
import type { Credentials } from "../subscriptions/secrets.ts";
import { deliverySignature, standardSignature } from "./signature.ts";

/** What is sent to a subscription: a queued event, an event of the delivery log, or a ping. */
export type WebhookMessage = {
  id: string;
  type: string;
  envelope: string;
  /** The number of the event, for its cursor; undefined or null for a ping. */
  eventSeq?: number | null;
};

/** A request that is ready to send. `own` are those of its headers whose values nobody is to see. */
export type PreparedRequest = { headers: Record<string, string>; own: OwnHeaders; body: Uint8Array };

const userAgent = "Parley-Webhooks/1";

const encoder = new TextEncoder();

/**
 * Returns the headers and the body of one attempt (specification part 6), signed both as the specification says and as
 * Standard Webhooks does. Each attempt is signed at its own time, so receivers accept a late retry as they accept the
 * first attempt. Headers of the subscription's own come first, so that none takes the place of ours. `now` is
 * milliseconds since 1970, `traceparent` that of the attempt while traces are on.
 */
export function prepare(
  message: WebhookMessage,
  { secrets, headers }: Credentials,
  now: number,
  traceparent?: string,
): PreparedRequest {
  const body = encoder.encode(message.envelope);
  const seconds = Math.floor(now / 1000);
  return {
    headers: {
      ...headers,
      ...unsignedHeaders(message),
      "x-service-signature": deliverySignature(secrets, seconds, body),
      "webhook-timestamp": String(seconds),
      "webhook-signature": standardSignature(secrets, message.id, seconds, body),
      ...(traceparent !== undefined && { traceparent }),
    },
    own: headers,
    body,
  };
}

/** Returns the headers that are the same for every attempt: all but the signatures and their timestamps. */
export function unsignedHeaders({
  id,
  type,
  eventSeq,
}: Omit<WebhookMessage, "envelope">): Record<string, string> {
  const cursor = typeof eventSeq === "number" ? cursorOf({ seq: eventSeq, mark: markOf(id) }) : undefined;
  return {
    "content-type": "application/json",
    "user-agent": userAgent,
    "x-service-event": type,
    "x-service-delivery": id,
    ...(cursor !== undefined && { "x-service-cursor": cursor }),
    "webhook-id": id,
  };
}
