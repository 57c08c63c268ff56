import { type IncomingWebhook, listIncomingWebhooks } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { theOnlyWithId } from "../../src/input/reference.ts";
import type { InTeam, Invocation } from "./invocation.ts";

/**
 * The incoming webhook with the given id, or unique part of one; chosen at a prompt if none was given.
 * @throws DomainError `not_found`; `conflict` when the part is not unique; `usage` where nobody can be asked.
 */
export async function incomingWebhookReference(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<IncomingWebhook> {
  const webhooks = await database.ask((db) => listIncomingWebhooks(db, team.id));
  const id = await prompts.choice(given, {
    question: "Which incoming webhook?",
    option: "ID",
    choices: () =>
      webhooks.map(({ id, name, channel }) => ({ value: id, label: name, hint: `#${channel.name}` })),
  });
  return theOnlyWithId(webhooks, "incoming webhook", id);
}
