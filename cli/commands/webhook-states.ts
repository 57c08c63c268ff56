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
import { Unsuccessful } from "../terminal/unsuccessful.ts";

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
    summary: "Enable a subscription with a clean streak; say what waits for it, and send that in order",
    examples: ["parley webhooks enable CI", "parley webhooks enable CI --discard-pending --yes"],
  }).option("--discard-pending", "drop what waited instead of sending it");
  invocation.teamAction(command, async (at, given: string | undefined, options: EnableOptions) => {
    const { id, name, status, created_by } = await chosenSubscription(invocation, at, given);
    const discardPending = options.discardPending === true;
    const { database, team } = at;
    const pending = await pendingOf(database.read, team.id, id);
    if (discardPending) await invocation.prompts.confirm(`Drop ${eventsOf(pending)} that wait for ${name}?`);
    else if (status === "disabled" && pending.count > 0)
      invocation.output.note(
        `${eventsOf(pending)} waited for ${name} and will be sent in order${unlessWithheld(invocation)}.`,
      );
    const enabled = await enableSubscription(database, team.id, id, { discardPending }, invocation.actor);
    invocation.output.done({
      data: { ...enabled, pending },
      said: [
        `The subscription ${name} is active${discardPending ? "; what waited is dropped" : ""}.`,
        ...goneCreator(database.read, team.id, created_by, invocation.visibility),
      ],
      brief: id,
      next: `parley deliveries list --webhook ${id} --follow`,
    });
  });
}

function unlessWithheld(invocation: Invocation): string {
  const followsCreators = invocation.visibility.webhooksVisibility === "creator";
  return followsCreators ? ", but for those that its creator may not see now" : "";
}

/** "1,204 events (the oldest of 12m ago)" */
function eventsOf({ count, since }: Pending): string {
  const events = count === 1 ? "1 event" : `${count.toLocaleString("en")} events`;
  return since === null ? events : `${events} (the oldest of ${relativeTime(since)})`;
}

function addDisable(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "disable [webhook]", {
    summary: "Disable a subscription: nothing is sent until it is enabled, and its events wait",
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
    summary: "Replace the signing secret and show the new one once",
    examples: ["parley webhooks rotate-secret CI --overlap 24h --yes"],
  }).option(
    "--overlap <span>",
    "sign with both for so long: 30m, 24h, 7d (default: the old one is dead at once)",
    parseDuration,
  );
  invocation.teamAction(command, async (at, given: string | undefined, options: RotateOptions) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const overlapMs = options.overlap ?? 0;
    await invocation.prompts.confirm(
      `Replace the signing secret of ${name}? The receiver has to learn the new one.`,
    );
    const { vault } = outgoing(invocation);
    const rotated = await at.database.write((tx) =>
      rotateSecret(tx, vault, at.team.id, id, overlapMs, invocation.actor),
    );
    invocation.output.done({
      data: rotated,
      said: [
        `Replaced the signing secret of ${name}${overlapMs > 0 ? "; the old one signs too for now" : ""}.`,
        "It is shown only this once:",
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
    summary: "Send one signed test request of type ping and show the answer; nothing is logged",
    examples: ["parley webhooks ping CI"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    const pong = await ping({ database: at.database, ...outgoing(invocation) }, at.team.id, id);
    const took = `in ${pong.duration_ms} ms`;
    const answer = pong.response ? [`It said: ${pong.response}`] : [];
    if (!pong.succeeded) {
      throw new Unsuccessful([`The ping failed ${took}: ${pong.error}.`, ...answer].join("\n"), pong);
    }
    invocation.output.done({
      data: pong,
      said: [`${name} answered ${pong.response_status} ${took}.`, ...answer],
      brief: String(pong.response_status),
    });
  });
}
