import { newSecret } from "../secrets/secret-text.ts";
import { credentialsOf } from "../subscriptions/secrets.ts";
import { prepare } from "./prepare.ts";
import { sendTestRequests, type TestAnswer, testMessage, type TestParts } from "./test-request.ts";

/** How a receiver answered a ping signed with its newest secret alone, and one signed with a made-up secret. */
export type SecretProof = { genuine: TestAnswer; forged: TestAnswer };

/**
 * Tries whether the subscription's receiver has its newest secret, and verifies at all. Returns that secret too, as it
 * is stored.
 * @throws DomainError `not_found` when the team has no such subscription; `key_missing` when its secret cannot be read.
 */
export async function proveSecret(
  parts: TestParts,
  teamId: string,
  id: string,
): Promise<SecretProof & { sealedSecret: Buffer }> {
  let sealedSecret: Buffer = Buffer.alloc(0);
  const [genuine, forged] = await sendTestRequests(parts, teamId, id, (row, now) => {
    sealedSecret = row.secret;
    const credentials = credentialsOf(parts.vault, row, now);
    return [credentials.secrets.slice(0, 1), [newSecret("whsec_")]].map((secrets) =>
      prepare(testMessage("ping", { webhook_id: row.id }, now), { ...credentials, secrets }, now),
    );
  });
  return { ...({ genuine, forged } as SecretProof), sealedSecret };
}

/** Whether the receiver took the one and refused the other, so that the old secret need not sign any more. */
export function isProven({ genuine, forged }: SecretProof): boolean {
  return genuine.succeeded && !forged.succeeded && forged.response_status !== null;
}
