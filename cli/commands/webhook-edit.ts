import { type Command, Option } from "commander";
import { DomainError } from "../../src/errors.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { editSubscription } from "../../src/subscriptions/edit.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { channelIdsOf, subscriptionParts } from "../invocation/subscription-parts.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";

type EditOptions = { name?: string; url?: string; event?: string[]; channel?: string[]; allChannels?: true };

/** `parley webhooks edit`. */
export function addWebhookEdit(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "edit [webhook]", {
    summary: "Change a subscription's name, URL, events or channels; its secret and log stay",
    examples: [
      "parley webhooks edit CI --url https://ci.example.com/v2/parley",
      "parley webhooks edit CI --event message.created --channel deploys",
    ],
  })
    .option("--name <name>", "a new name")
    .option("--url <url>", "a new URL; waiting events go there from their next attempt on")
    .addOption(
      new Option("--event <event...>", "the events to send from now on; repeatable").choices(webhookEvents),
    )
    .option("--channel <channel...>", "only events of this channel from now on; repeatable")
    .addOption(new Option("--all-channels", "events of all channels from now on").conflicts("channel"));
  invocation.teamAction(command, async (at, given: string | undefined, options: EditOptions) => {
    const { name, url, event: events, channel, allChannels } = options;
    const channelIds = channel ? await channelIdsOf(at, channel) : allChannels && null;
    const input = {
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events }),
      ...(channelIds !== undefined && { channel_ids: channelIds }),
    };
    if (Object.keys(input).length === 0)
      throw new DomainError(
        "usage",
        "Say what to change: --name, --url, --event, --channel or --all-channels.",
      );
    const { id } = await chosenSubscription(invocation, at, given);
    const parts = subscriptionParts(invocation, at);
    const edited = await editSubscription(parts, at.team.id, id, input, invocation.actor);
    invocation.output.done({
      data: edited,
      said: `The subscription ${edited.name} goes to ${edited.url}.`,
      brief: id,
      next: input.url === undefined ? `parley webhooks show ${id}` : `parley webhooks ping ${id}`,
    });
  });
}
