import { credentialsOf } from "../subscriptions/secrets.ts";
import { prepare } from "./prepare.ts";
import { sendTestRequests, type TestAnswer, testMessage, type TestParts } from "./test-request.ts";

/**
 * Sends one signed test request of type `ping`, also to a disabled subscription, and returns the answer. It is not
 * logged and does not change the failure streak. A failed ping is a result, not an error.
 * @throws DomainError what `sendTestRequests` throws; `key_missing` when the secret cannot be decrypted to sign the
 *   request.
 */
export async function ping(parts: TestParts, teamId: string, id: string): Promise<TestAnswer> {
  const [answer] = await sendTestRequests(parts, teamId, id, (row, now) => [
    prepare(testMessage("ping", { webhook_id: row.id }, now), credentialsOf(parts.vault, row, now), now),
  ]);
  return answer as TestAnswer;
}
