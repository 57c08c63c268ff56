import type { Command } from "commander";
import { rotateIncomingAddress, rotateIncomingSecret } from "../../src/incoming-webhooks/rotation.ts";
import { addCommand } from "../invocation/command.ts";
import { parseDuration } from "../invocation/durations.ts";
import { incomingWebhookReference } from "../invocation/incoming-webhook-reference.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { incomingUrl, signingHint, title } from "../terminal/incoming-webhook-view.ts";

/** `overlap` in milliseconds. */
type RotateOptions = { overlap?: number };

/** `parley incoming-webhooks rotate-url`: a new address, at once or with an overlap. */
export function addRotateAddress(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "rotate-url [id]", {
    summary: "Replace the URL; the new one is shown once",
    examples: ["parley incoming-webhooks rotate-url 6b8a1c2d4e5f --overlap 24h --yes"],
  }).option(
    "--overlap <span>",
    "how long the old URL works as well: 30m, 24h, 7d (default: it stops working immediately)",
    parseDuration,
  );
  invocation.teamAction(command, async (at, given: string | undefined, { overlap = 0 }: RotateOptions) => {
    const webhook = await incomingWebhookReference(invocation, at, given);
    const what =
      overlap > 0 ? "The sender needs the new one in time." : "The old one stops working immediately.";
    await invocation.prompts.confirm(`Replace the URL of ${title(webhook)}? ${what}`);
    const { token, ...rotated } = await at.database.write((tx) =>
      rotateIncomingAddress(tx, at.team.id, webhook.id, invocation.actor, overlap),
    );
    const url = incomingUrl(invocation.baseUrl, token);
    invocation.output.done({
      data: { ...rotated, url },
      said: [
        `Replaced the URL of ${title(webhook)}${until(rotated.old_address_until)}.`,
        "Anyone who has the URL can post. It is shown only once:",
        "",
        `  ${url}`,
        "",
        "A sender with a form of its own, such as /slack, has that after it, as before.",
      ],
      brief: url,
    });
  });
}

/** `parley incoming-webhooks rotate-secret`: a new signing secret, at once or with an overlap. */
export function addRotateSecret(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "rotate-secret [id]", {
    summary: "Set a new signing secret, shown once, and require signatures from now on",
    examples: [
      "parley incoming-webhooks rotate-secret 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f",
      "parley incoming-webhooks rotate-secret 6b8a1c2d4e5f --overlap 24h --yes",
    ],
  }).option(
    "--overlap <span>",
    "how long the old secret is accepted as well: 30m, 24h, 7d (default: it stops working immediately)",
    parseDuration,
  );
  invocation.teamAction(command, async (at, given: string | undefined, { overlap = 0 }: RotateOptions) => {
    const webhook = await incomingWebhookReference(invocation, at, given);
    const refused = webhook.signed ? "Requests signed with the old one" : "Unsigned requests";
    const what = overlap > 0 ? "The sender needs the new one in time." : `${refused} will be refused.`;
    await invocation.prompts.confirm(`Create a new signing secret for ${title(webhook)}? ${what}`);
    const { vault } = outgoing(invocation);
    const rotated = await at.database.write((tx) =>
      rotateIncomingSecret(tx, vault, at.team.id, webhook.id, invocation.actor, overlap),
    );
    invocation.output.done({
      data: rotated,
      said: [
        `Created a new signing secret for ${title(webhook)}${until(rotated.old_secret_until)}.`,
        ...signingHint(rotated.secret),
      ],
      brief: rotated.secret,
    });
  });
}

function until(moment: string | undefined): string {
  return moment === undefined ? "" : `; the old one works until ${moment}`;
}
