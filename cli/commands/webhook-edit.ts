import { type Command, Option } from "commander";
import { DomainError } from "../../src/errors.ts";
import { webhookEvents } from "../../src/event-types.ts";
import type { ListedSubscription } from "../../src/subscriptions/schemas.ts";
import { editSubscription } from "../../src/subscriptions/edit.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { givenHeaders, headerOptions, type HeaderOptions } from "../invocation/own-headers.ts";
import { channelIdsOf, subscriptionParts } from "../invocation/subscription-parts.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";

type EditOptions = {
  name?: string;
  url?: string;
  event?: string[];
  channel?: string[];
  allChannels?: true;
  removeHeader?: string[];
} & HeaderOptions;

/** `parley webhooks edit`. */
export function addWebhookEdit(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "edit [webhook]", {
    summary: "Change a subscription's name, URL, events, channels or headers; its secret and log stay",
    examples: [
      "parley webhooks edit CI --url https://ci.example.com/v2/parley",
      "parley webhooks edit CI --event message.created --channel deploys",
      "parley webhooks edit CI --header-file headers.txt --remove-header X-Old-Key",
    ],
  });
  command
    .option("--name <name>", "a new name")
    .option("--url <url>", "a new URL; waiting events go there from their next attempt on")
    .addOption(
      new Option("--event <event...>", "the events to send from now on; repeatable").choices(webhookEvents),
    )
    .option("--channel <channel...>", "only events of this channel from now on; repeatable")
    .addOption(new Option("--all-channels", "events of all channels from now on").conflicts("channel"));
  for (const option of headerOptions()) command.addOption(option);
  command.option("--remove-header <name...>", "no longer send this header; repeatable");
  invocation.teamAction(command, async (at, given: string | undefined, options: EditOptions) => {
    const { name, url, event: events, channel, allChannels } = options;
    const headers = await changeOfHeaders(options);
    const channelIds = channel ? await channelIdsOf(at, channel) : allChannels && null;
    const input = {
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...(events !== undefined && { events }),
      ...(channelIds !== undefined && { channel_ids: channelIds }),
      ...(headers && { headers }),
    };
    if (Object.keys(input).length === 0)
      throw new DomainError(
        "usage",
        "Say what to change: --name, --url, --event, --channel, --all-channels, --header, --header-file or --remove-header.",
      );
    const { id } = await chosenSubscription(invocation, at, given);
    const parts = subscriptionParts(invocation, at);
    const edited = await editSubscription(parts, at.team.id, id, input, invocation.actor);
    invocation.output.done({
      data: edited,
      said: `The subscription ${edited.name} goes to ${edited.url}${withHeaders(edited)}.`,
      brief: id,
      next:
        input.url === undefined && headers === undefined
          ? `parley webhooks show ${id}`
          : `parley webhooks ping ${id}`,
    });
  });
}

function withHeaders({ header_names }: ListedSubscription): string {
  return header_names.length === 0 ? "" : `, with the headers ${header_names.join(", ")}`;
}

/** Null in place of the value removes a header; undefined where none is named. */
async function changeOfHeaders(options: EditOptions): Promise<Record<string, string | null> | undefined> {
  const [set, removed] = [await givenHeaders(options), options.removeHeader ?? []];
  if (removed.some((name) => Object.hasOwn(set ?? {}, name.toLowerCase())))
    throw new DomainError(
      "usage",
      "A header cannot be set and removed at once. Leave out --remove-header for it.",
    );
  const all = [...Object.entries(set ?? {}), ...removed.map((name): [string, null] => [name, null])];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}
