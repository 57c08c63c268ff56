import { deliverySignature, standardSignature } from "../../src/deliveries/signature.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";

const secret = newSecret("whsec_");
const id = "01a1f9fc-8bfd-7ade-93c6-509f31a7796a";
const envelope = JSON.stringify({
  id,
  type: "channel.member_added",
  created_at: "2026-11-20T17:24:00.125+00:00",
  data: { channel_id: id, user: { id, name: "Zoë <z@example.com>", type: "human" } },
});

/** A request as somebody pastes it. */
export type SignedRequest = { headers: Record<string, string>; body: string; secret: string };

/** A delivery of the envelope, signed now or so many seconds ago. */
export function delivery(ageSeconds = 0, body = envelope): SignedRequest {
  const time = Math.floor(Date.now() / 1000) - ageSeconds;
  const headers = {
    "X-Service-Delivery": id,
    "X-Service-Signature": deliverySignature([secret], time, body),
    "webhook-id": id,
    "webhook-timestamp": String(time),
    "webhook-signature": standardSignature([secret], id, time, body),
  };
  return { headers, body, secret };
}

/** The headers as lines. */
export function linesOf(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}
