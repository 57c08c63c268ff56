import type { IncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";

/** The public URL of the webhook with this token. */
export function incomingUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/webhooks/incoming/${token}`;
}

/** The webhook as questions and results name it. */
export function title({ name, channel }: IncomingWebhook): string {
  return `the incoming webhook ${name} for #${channel.name}`;
}

/** How a sender uses the signing secret, which is shown only here. */
export function signingHint(secret: string): string[] {
  return [
    "Each request must carry X-Signature-256, the hex HMAC-SHA256 of its raw body under this secret.",
    "The secret is shown only once:",
    "",
    `  ${secret}`,
    "",
  ];
}
