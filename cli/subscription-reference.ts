import { listSubscriptions } from "../src/subscriptions/subscriptions.ts";
import type { InTeam, Invocation } from "./invocation.ts";

/** The id of the subscription that was named, or of the one that the person chooses. */
export async function subscriptionId(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which subscription?",
    option: "ID",
    choices: async () =>
      (await listSubscriptions(database.read, team.id)).map(({ id, name, status, url }) => ({
        value: id,
        label: name,
        hint: `${status}, ${url}`,
      })),
  });
}
