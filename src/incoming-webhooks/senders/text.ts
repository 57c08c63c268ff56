import type { Sender } from "./sender.ts";

/** The body is the message, whatever its content type says: `curl -d "done" ADDRESS`. */
export const text: Sender = {
  suffix: "text",
  name: "plain text",
  reads: "text",
  messageOf: ({ payload }) => ({ text: String(payload), username: null, iconUrl: null }),
  setUp: (address, secret) => ["From a shell or a script:", "", ...commands(address, secret)],
};

function commands(address: string, secret: string | null): string[] {
  const body = "The backup is done.";
  if (secret === null) return [`  curl -d "${body}" ${address}`];
  return [
    `  body="${body}"`,
    `  signature=$(printf '%s' "$body" | openssl dgst -sha256 -hmac ${secret} | sed 's/.* //')`,
    `  curl -d "$body" -H "X-Signature-256: $signature" ${address}`,
  ];
}
