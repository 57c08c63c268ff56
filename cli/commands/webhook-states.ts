import type { Command } from "commander";
import {
  disableSubscription,
  enableSubscription,
  type Pending,
  pendingOf,
} from "../../src/subscriptions/status.ts";
import { addCommand } from "../invocation/command.ts";
import { goneCreator } from "../terminal/creator-view.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";

type EnableOptions = { discardPending?: true };

/** The verbs of `parley webhooks` that change whether a subscription is sent its events. */
export function addWebhookStates(noun: Command, invocation: Invocation): void {
  addEnable(noun, invocation);
  addDisable(noun, invocation);
}

function addEnable(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "enable [webhook]", {
    summary: "Enable a subscription, reset its failures and send its pending events",
    examples: ["parley webhooks enable CI", "parley webhooks enable CI --discard-pending --yes"],
  }).option("--discard-pending", "drop the pending events instead of sending them");
  invocation.teamAction(command, async (at, given: string | undefined, options: EnableOptions) => {
    const { id, name, status, created_by } = await chosenSubscription(invocation, at, given);
    const discardPending = options.discardPending === true;
    const { database, team } = at;
    const pending = await database.ask((db) => pendingOf(db, team.id, id));
    if (discardPending) await invocation.prompts.confirm(`Drop ${eventsOf(pending)} pending for ${name}?`);
    else if (status === "disabled" && pending.count > 0)
      invocation.output.note(
        `${eventsOf(pending)} pending for ${name} will be sent in order${unlessWithheld(invocation)}.`,
      );
    const enabled = await enableSubscription(database, team.id, id, { discardPending }, invocation.actor);
    invocation.output.done({
      data: { ...enabled, pending },
      said: [
        `The subscription ${name} is active${discardPending ? "; its pending events were dropped" : ""}.`,
        ...(await database.ask((db) => goneCreator(db, team.id, created_by, invocation.visibility))),
      ],
      brief: id,
      next: `parley deliveries list --webhook ${id} --follow`,
    });
  });
}

function unlessWithheld(invocation: Invocation): string {
  const followsCreators = invocation.visibility.webhooksVisibility === "creator";
  return followsCreators ? ", except those that its creator may no longer see" : "";
}

/** "1,204 events (oldest: 12m ago)" */
function eventsOf({ count, since }: Pending): string {
  const events = count === 1 ? "1 event" : `${count.toLocaleString("en")} events`;
  return since === null ? events : `${events} (oldest: ${relativeTime(since)})`;
}

function addDisable(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "disable [webhook]", {
    summary: "Disable a subscription; its events wait until it is enabled again",
    examples: ["parley webhooks disable CI --yes"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    await invocation.prompts.confirm(
      `Disable the subscription ${name}? Its events wait until it is enabled again.`,
    );
    const disabled = await at.database.write((tx) =>
      disableSubscription(tx, at.team.id, id, invocation.actor),
    );
    invocation.output.done({
      data: disabled,
      said: `The subscription ${name} is disabled.`,
      brief: id,
      next: `parley webhooks enable ${id}`,
    });
  });
}
