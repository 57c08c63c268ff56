import type { ListedSubscription } from "../../src/subscriptions/schemas.ts";
import { getSubscriptionNamed, listAllSubscriptions } from "../../src/subscriptions/subscriptions.ts";
import type { InTeam, Invocation } from "./invocation.ts";

/**
 * The subscription with the given id or name, or else the one chosen at a prompt. `option` is what the
 * error for a missing one names.
 * @throws what `Prompts.choice` and `getSubscriptionNamed` throw.
 */
export async function chosenSubscription(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
  option = "WEBHOOK",
): Promise<ListedSubscription> {
  const reference = await prompts.choice(given, {
    question: "Which subscription?",
    option,
    choices: async () =>
      (await database.ask((db) => listAllSubscriptions(db, team.id))).map(({ id, name, status, url }) => ({
        value: id,
        label: name,
        hint: `${status}, ${url ?? "without a URL"}`,
      })),
  });
  return await database.ask((db) => getSubscriptionNamed(db, team.id, reference));
}
