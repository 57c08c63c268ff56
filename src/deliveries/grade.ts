import { newSecret } from "../secrets/secret-text.ts";
import { credentialsOf } from "../subscriptions/secrets.ts";
import { prepare } from "./prepare.ts";
import { sendTestRequests, type TestAnswer, testMessage, type TestParts } from "./test-request.ts";

/** How old the timestamp of the stale request is, in milliseconds: an hour, where receivers accept five minutes. */
const staleMs = 3_600_000;

const requests = ["good", "forged", "stale", "repeated"] as const;

/** How a receiver answered one of the requests that try it, and how it should have. */
export type Grade = {
  request: (typeof requests)[number];
  expected: "2xx" | "4xx";
  passed: boolean;
  /** What to do about it; null if it passed. */
  advice: string | null;
} & TestAnswer;

/**
 * Sends four pings to the subscription's receiver: a good one, one that is signed with another secret, one that was
 * signed an hour ago, and the good one once more. Returns the grades in this order. None is logged or counted.
 * @throws DomainError `not_found` when the team has no such subscription; `key_missing` when its secret cannot be read.
 */
export async function grade(parts: TestParts, teamId: string, id: string): Promise<Grade[]> {
  const answers = await sendTestRequests(parts, teamId, id, (row, now) => {
    const credentials = credentialsOf(parts.vault, row, now);
    const message = () => testMessage("ping", { webhook_id: row.id }, now);
    const good = prepare(message(), credentials, now);
    return [
      good,
      // With the headers: without them a receiver that looks at nothing else would refuse it too.
      prepare(message(), { ...credentials, secrets: [newSecret("whsec_")] }, now),
      prepare(message(), credentials, now - staleMs),
      good,
    ];
  });
  return answers.map((answer, i) => graded(requests[i] ?? "good", answer));
}

function graded(request: Grade["request"], answer: TestAnswer): Grade {
  const expected = request === "forged" || request === "stale" ? "4xx" : "2xx";
  const isRefused = answer.response_status !== null && Math.floor(answer.response_status / 100) === 4;
  const passed = expected === "2xx" ? answer.succeeded : isRefused;
  return { request, expected, passed, advice: passed ? null : adviceFor(request, answer), ...answer };
}

function adviceFor(request: Grade["request"], { succeeded, error }: TestAnswer): string {
  if (request === "good") {
    return (
      `A genuine request failed: ${error}. Does the receiver have this subscription's secret, and does it verify the ` +
      "raw body?"
    );
  }
  if (request === "repeated")
    return "The same request came twice, as it does after a lost answer. Answer 2xx again, and handle each id once.";
  if (!succeeded) return `It was not accepted, but not refused either: ${error}. Answer 401.`;
  if (request === "forged") {
    return (
      "It was accepted, though it was signed with another secret: anybody can send events. Verify the signature, and " +
      "answer 401."
    );
  }
  return (
    "It was accepted, though it was signed an hour ago: a recorded request can be sent again. Refuse timestamps that " +
    "are more than five minutes off."
  );
}
