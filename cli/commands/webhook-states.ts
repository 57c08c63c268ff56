import type { Command } from "commander";
import { ping } from "../../src/deliveries/ping.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import {
  disableSubscription,
  enableSubscription,
  type Pending,
  pendingOf,
} from "../../src/subscriptions/status.ts";
import { addCommand } from "../invocation/command.ts";
import { goneCreator } from "../terminal/creator-view.ts";
import { parseDuration } from "../invocation/durations.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { FailedRequest } from "../terminal/failed-request.ts";

type EnableOptions = { discardPending?: true };

/** `overlap` in milliseconds. */
type RotateOptions = { overlap?: number };

/** The verbs of `parley webhooks` that act on one subscription: enable, disable, rotate-secret, ping. */
export function addWebhookStates(noun: Command, invocation: Invocation): void {
  addEnable(noun, invocation);
  addDisable(noun, invocation);
  addRotateSecret(noun, invocation);
  addPing(noun, invocation);
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

function addRotateSecret(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "rotate-secret [webhook]", {
    summary: "Replace the signing secret; the new one is shown once",
    examples: ["parley webhooks rotate-secret CI --overlap 24h --yes"],
  }).option(
    "--overlap <span>",
    "how long to sign with both secrets: 30m, 24h, 7d (default: the old one stops working immediately)",
    parseDuration,
  );
  invocation.teamAction(command, async (at, given: string | undefined, options: RotateOptions) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const overlapMs = options.overlap ?? 0;
    await invocation.prompts.confirm(
      `Replace the signing secret of ${name}? The receiver needs the new one.`,
    );
    const { vault } = outgoing(invocation);
    const rotated = await at.database.write((tx) =>
      rotateSecret(tx, vault, at.team.id, id, overlapMs, invocation.actor),
    );
    invocation.output.done({
      data: rotated,
      said: [
        `Replaced the signing secret of ${name}${overlapMs > 0 ? "; during the overlap both sign" : ""}.`,
        "It is shown only once:",
        "",
        `  ${rotated.secret}`,
        "",
      ],
      brief: rotated.secret,
      next: `parley webhooks ping ${id}`,
    });
  });
}

function addPing(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "ping [webhook]", {
    summary: "Send one signed, unlogged ping and show the response",
    examples: ["parley webhooks ping CI"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const pong = await ping({ database: at.database, ...outgoing(invocation) }, at.team.id, id);
    const took = `in ${pong.duration_ms} ms`;
    const response = pong.response ? [`Response: ${pong.response}`] : [];
    if (!pong.succeeded) {
      throw new FailedRequest([`Ping failed ${took}: ${pong.error}.`, ...response].join("\n"), pong);
    }
    invocation.output.done({
      data: pong,
      said: [`${name} answered ${pong.response_status} ${took}.`, ...response],
      brief: String(pong.response_status),
    });
  });
}
