import { deliverySignature } from "./signature.ts";

/** What a subscription is told: an event of the queue or of the log, or a ping. */
export type Notice = { id: string; type: string; envelope: string };

/** A request that is ready to be sent. */
export type PreparedRequest = { headers: Record<string, string>; body: Uint8Array };

const userAgent = "Parley-Webhooks/1";

/**
 * The headers and the body of one attempt (specification part 6). The signature is made for this moment, so that a
 * late retry is as fresh as a first attempt; `secrets` holds the current one first.
 */
export function prepare(notice: Notice, secrets: string[], now: number): PreparedRequest {
  const body = new TextEncoder().encode(notice.envelope);
  return {
    headers: {
      ...plainHeaders(notice),
      "x-service-signature": deliverySignature(secrets, Math.floor(now / 1000), body),
    },
    body,
  };
}

/** The headers of an attempt but for its signature. */
export function plainHeaders({ id, type }: Pick<Notice, "id" | "type">): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": userAgent,
    "x-service-event": type,
    "x-service-delivery": id,
  };
}
