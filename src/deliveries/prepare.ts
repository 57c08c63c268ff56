import { deliverySignature, standardSignature } from "./signature.ts";

/** What a subscription is told: an event of the queue or of the log, or a ping. */
export type WebhookMessage = { id: string; type: string; envelope: string };

/** A request that is ready to be sent. */
export type PreparedRequest = { headers: Record<string, string>; body: Uint8Array };

const userAgent = "Parley-Webhooks/1";

const encoder = new TextEncoder();

/**
 * The headers and the body of one attempt (specification part 6), signed in its way and in that of Standard Webhooks.
 * The signatures are made for this moment, so that a late retry is as fresh as a first attempt; `secrets` holds the
 * current one first.
 */
export function prepare(notice: WebhookMessage, secrets: string[], now: number): PreparedRequest {
  const body = encoder.encode(notice.envelope);
  const seconds = Math.floor(now / 1000);
  return {
    headers: {
      ...plainHeaders(notice),
      "x-service-signature": deliverySignature(secrets, seconds, body),
      "webhook-timestamp": String(seconds),
      "webhook-signature": standardSignature(secrets, notice.id, seconds, body),
    },
    body,
  };
}

/** The headers of an attempt but for those that depend on its moment, which are the signatures and their time. */
export function plainHeaders({ id, type }: Pick<WebhookMessage, "id" | "type">): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": userAgent,
    "x-service-event": type,
    "x-service-delivery": id,
    "webhook-id": id,
  };
}
