import type { Command } from "commander";
import { ping } from "../../src/deliveries/ping.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { disableSubscription, enableSubscription } from "../../src/subscriptions/status.ts";
import { addCommand } from "../command.ts";
import { parseDuration } from "../durations.ts";
import type { Invocation } from "../invocation.ts";
import { outgoing } from "../outgoing.ts";
import { subscriptionId } from "../subscription-reference.ts";

const exampleId = "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f";

/** The verbs of `parley webhooks` that act on one subscription: enable, disable, rotate-secret, ping. */
export function addWebhookStates(noun: Command, invocation: Invocation): void {
  addEnable(noun, invocation);
  addDisable(noun, invocation);
  addRotateSecret(noun, invocation);
  addPing(noun, invocation);
}

function addEnable(noun: Command, invocation: Invocation): void {
  addCommand(noun, "enable [id]", {
    summary: "Enable a subscription with a clean streak, and send what waited",
    examples: [
      `parley webhooks enable ${exampleId}`,
      `parley webhooks enable ${exampleId} --discard-pending --yes`,
    ],
  })
    .option("--discard-pending", "drop what waited instead of sending it")
    .action(async (given: string | undefined, options: { discardPending?: true }) => {
      await invocation.inTeam(async (at) => {
        const id = await subscriptionId(invocation, at, given);
        const discardPending = options.discardPending === true;
        if (discardPending)
          await invocation.prompts.confirm("Drop everything that waits for the subscription?");
        const { database, team } = at;
        const enabled = await enableSubscription(database, team.id, id, { discardPending }, invocation.actor);
        invocation.output.done({
          data: enabled,
          said: `Enabled the subscription ${enabled.name}${discardPending ? "; what waited is dropped" : ""}.`,
          brief: enabled.id,
          next: `parley deliveries list --webhook ${enabled.id} --follow`,
        });
      });
    });
}

function addDisable(noun: Command, invocation: Invocation): void {
  addCommand(noun, "disable [id]", {
    summary: "Disable a subscription: nothing is sent, what waits is kept, new events pass it by",
    examples: [`parley webhooks disable ${exampleId} --yes`],
  }).action(async (given: string | undefined) => {
    await invocation.inTeam(async (at) => {
      const id = await subscriptionId(invocation, at, given);
      await invocation.prompts.confirm(
        "Disable the subscription? Events that happen meanwhile are not sent later.",
      );
      const disabled = await at.database.write((tx) =>
        disableSubscription(tx, at.team.id, id, invocation.actor),
      );
      invocation.output.done({
        data: disabled,
        said: `Disabled the subscription ${disabled.name}.`,
        brief: disabled.id,
        next: `parley webhooks enable ${disabled.id}`,
      });
    });
  });
}

function addRotateSecret(noun: Command, invocation: Invocation): void {
  addCommand(noun, "rotate-secret [id]", {
    summary: "Replace the signing secret and show the new one once",
    examples: [`parley webhooks rotate-secret ${exampleId} --overlap 24h --yes`],
  })
    .option(
      "--overlap <span>",
      "sign with both for so long (default: the old one is dead at once)",
      parseDuration,
    )
    .action(async (given: string | undefined, options: { overlap?: number }) => {
      await invocation.inTeam(async (at) => {
        const id = await subscriptionId(invocation, at, given);
        const overlapMs = options.overlap ?? 0;
        await invocation.prompts.confirm(
          "Replace the signing secret? The receiver has to learn the new one.",
        );
        const { vault } = outgoing(invocation);
        const rotated = await at.database.write((tx) =>
          rotateSecret(tx, vault, at.team.id, id, overlapMs, invocation.actor),
        );
        invocation.output.done({
          data: rotated,
          said: [
            `Replaced the signing secret of ${rotated.name}${overlapMs > 0 ? "; the old one signs too for now" : ""}.`,
            "It is shown only this once:",
            "",
            `  ${rotated.secret}`,
            "",
          ],
          brief: rotated.secret,
          next: `parley webhooks ping ${rotated.id}`,
        });
      });
    });
}

function addPing(noun: Command, invocation: Invocation): void {
  addCommand(noun, "ping [id]", {
    summary: "Send one signed test request of type ping and show the answer; nothing is logged",
    examples: [`parley webhooks ping ${exampleId}`],
  }).action(async (given: string | undefined) => {
    await invocation.inTeam(async (at) => {
      const id = await subscriptionId(invocation, at, given);
      const pong = await ping({ database: at.database, ...outgoing(invocation) }, at.team.id, id);
      invocation.output.details(pong, [
        ["Result", pong.succeeded ? "it succeeded" : (pong.error ?? "it failed")],
        ["Status", pong.response_status === null ? "none" : String(pong.response_status)],
        ["Took", `${pong.duration_ms} ms`],
        ["Answer", pong.response ?? ""],
      ]);
      if (!pong.succeeded) process.exitCode = 1;
    });
  });
}
