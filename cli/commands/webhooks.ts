import { type Command, Option } from "commander";
import { listAllChannels } from "../../src/channels/channels.ts";
import { type WebhookEvent, webhookEvents } from "../../src/event-types.ts";
import { healthOfSubscription, healthOfTeam } from "../../src/deliveries/subscription-health.ts";
import { showSubscription } from "../../src/deliveries/subscription-with-attempts.ts";
import {
  createSubscription,
  deleteSubscription,
  listAllSubscriptions,
} from "../../src/subscriptions/subscriptions.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { creatorTitle } from "../terminal/creator-view.ts";
import { idColumns, shortId } from "../terminal/id-columns.ts";
import { addCommand } from "../invocation/command.ts";
import { parseMoment } from "../invocation/durations.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { channelIdsOf, subscriptionParts } from "../invocation/subscription-parts.ts";
import { givenHeaders, headerOptions, type HeaderOptions } from "../invocation/own-headers.ts";
import { givenSecret, secretStdin } from "../invocation/own-secret.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { chosenSubscription } from "../invocation/subscription-reference.ts";
import { addRotateSecret } from "./rotate-secret.ts";
import { addWaitingEvents } from "./waiting-events.ts";
import { addWebhookEdit } from "./webhook-edit.ts";
import { showPreview } from "./webhook-preview.ts";
import {
  certificateNotes,
  healthLines,
  rateText,
  statusColor,
  troubleText,
  waitingText,
  type WithHealth,
} from "../terminal/webhook-health-view.ts";
import { workspaceTime } from "../../src/system/workspace-clock.ts";
import { addWebhookStates } from "./webhook-states.ts";
import { addWebhookTests } from "./webhook-tests.ts";

type CreateOptions = {
  name?: string;
  url?: string;
  pull?: true;
  event?: string[];
  channel?: string[];
  /** In milliseconds since 1970. */
  preview?: number;
} & HeaderOptions;

/** `parley webhooks`: subscriptions, the outgoing webhooks. */
export function addWebhooks(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "webhooks", {
    summary: "List, create and manage outgoing webhook subscriptions",
    examples: ["parley webhooks list"],
  });
  addList(noun, invocation);
  addShow(noun, invocation);
  addWaitingEvents(noun, invocation);
  addCreate(noun, invocation);
  addWebhookEdit(noun, invocation);
  addDelete(noun, invocation);
  addWebhookStates(noun, invocation);
  addRotateSecret(noun, invocation);
  addWebhookTests(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list", {
    summary: "List subscriptions, newest first",
    examples: ["parley webhooks list"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    const { subscriptions, creators } = await database.ask(async (db) => {
      const subscriptions = await listAllSubscriptions(db, team.id);
      const ids = new Set(subscriptions.map(({ created_by }) => created_by));
      const health = await healthOfTeam(db, team.id, workspaceTime());
      const withHealth = subscriptions.flatMap((each) => {
        const found = health.get(each.id);
        return found ? [{ ...each, health: found }] : [];
      });
      return {
        subscriptions: withHealth,
        creators: new Map([...ids].map((id) => [id, creatorTitle(db, team.id, id)])),
      };
    });
    const { output } = invocation;
    output.list(
      subscriptions,
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "STATUS", of: shortStatus, color: statusColor },
        { title: "FOR", of: troubleText },
        { title: "WAIT", of: waitingText },
        { title: "24 H", of: rateText },
        { title: "SUCCESS", of: ({ last_success_at }) => relativeTime(last_success_at), dropsBelow: 100 },
        { title: "URL", of: destinationOf, canShrink: true },
        {
          title: "CREATOR",
          of: ({ created_by }) => creators.get(created_by) ?? "",
          canShrink: true,
          dropsBelow: 100,
        },
        // Commands take the name too.
        ...idColumns<WithHealth>(({ id }) => id, 120),
      ],
      { none: "There is no subscription yet.", next: adviceOn(subscriptions) },
    );
    if (!output.isJson) for (const note of certificateNotes(subscriptions)) output.note(note);
  });
}

/** The next useful command: to look at one that fails. */
function adviceOn(subscriptions: readonly WithHealth[]): string {
  const failing = subscriptions.find(({ health }) => health.failing_since !== null);
  return failing ? `parley webhooks show ${shortId(failing.id)}` : "parley webhooks create";
}

function addShow(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "show [webhook]", {
    summary: "Show a subscription and its latest attempts",
    examples: ["parley webhooks show CI"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, created_by } = await chosenSubscription(invocation, at, given);
    const { subscription, channels, creator, health } = await at.database.ask(async (db) => ({
      subscription: await showSubscription(db, at.team.id, id),
      channels: await listAllChannels(db, at.team.id),
      creator: creatorTitle(db, at.team.id, created_by),
      health: await healthOfSubscription(db, at.team.id, id, workspaceTime()),
    }));
    const shown = { ...subscription, created_by, health };
    const restrictedTo = channels.filter((channel) => shown.channel_ids?.includes(channel.id));
    const failed = shown.deliveries.filter(({ succeeded }) => !succeeded).length;
    invocation.output.details(
      shown,
      [
        ["name", shown.name],
        ["url", destinationOf(shown)],
        ...healthLines(shown),
        ["events", shown.events.join(", ")],
        ...headerLines(shown),
        ["channels", shown.channel_ids === null ? "all" : restrictedTo.map(channelTitle).join(", ")],
        ["creator", creator],
        ["consecutive failures", String(shown.consecutive_failures)],
        ["last success", relativeTime(shown.last_success_at)],
        ["latest attempts", `${shown.deliveries.length}, ${failed} of them failed`],
        ["id", shown.id],
      ],
      shown.status === "disabled"
        ? `parley webhooks enable ${shown.id}`
        : `parley deliveries list --webhook ${shown.id}`,
    );
  });
}

function addCreate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "create", {
    summary: "Create a subscription; its signing secret is shown once",
    examples: [
      "parley webhooks create --name CI --url https://ci.example.com/parley \\\n    --event message.created --event reaction.added --channel deploys",
      "parley webhooks create --name CI --url https://ci.example.com/parley \\\n    --event message.created --header-file headers.txt",
      "parley webhooks create --name archive --pull --event message.created",
      "parley webhooks create --event message.created --preview 7d",
    ],
  });
  command
    .option("--name <name>", "a name, such as the receiver's")
    .option("--url <url>", "a publicly reachable http or https URL")
    .addOption(new Option("--pull", "send nothing: the events are read through the API").conflicts("url"))
    .addOption(new Option("--event <event...>", "event to send; repeatable").choices(webhookEvents))
    .option("--channel <channel...>", "only events of this channel; repeatable (default: all channels)")
    .addOption(secretStdin().conflicts("pull"))
    .addOption(
      new Option(
        "--preview <time>",
        "create nothing; show what would have matched since then: 7d, 2026-05-04",
      )
        .argParser(parseMoment)
        .conflicts("secretStdin"),
    );
  for (const option of headerOptions()) command.addOption(option.conflicts("pull"));
  invocation.teamAction(command, async (at, options: CreateOptions) => {
    const { prompts, output } = invocation;
    if (options.preview !== undefined) {
      const asked = await askedFor(invocation, at, options);
      return await showPreview(invocation, at, { ...asked, since: options.preview });
    }
    const headers = await givenHeaders(options);
    const input = {
      name: await prompts.text(options.name, { question: "What is it for?", option: "--name NAME" }),
      ...(options.pull
        ? { pull: true }
        : {
            url: await prompts.text(options.url, {
              question: "Where should events be sent?",
              option: "--url URL or --pull",
            }),
          }),
      ...(await askedFor(invocation, at, options)),
      ...(headers && { headers }),
    };
    const parts = subscriptionParts(invocation, at);
    const ownSecret = await givenSecret(invocation, options);
    const { data, secret } = await createSubscription(parts, at.team.id, input, invocation.actor, {
      ownSecret,
    });
    output.done({
      data: { ...data, created_by: invocation.actor, ...(ownSecret === undefined && { secret }) },
      ...(data.url === null
        ? {
            said: [
              `Created the subscription ${data.name}, whose events are not sent. Read them with`,
              "",
              `  GET /api/v1/webhooks/${data.id}/events`,
              "",
            ],
            brief: data.id,
            next: `parley webhooks show ${data.id}`,
          }
        : {
            said: [
              `Created the subscription ${data.name} to ${data.url}.`,
              ...(ownSecret === undefined
                ? ["Deliveries are signed with this secret, which is shown only once:", "", `  ${secret}`, ""]
                : ["Deliveries are signed with the secret that you gave."]),
            ],
            brief: ownSecret === undefined ? secret : data.id,
            next: `parley webhooks ping ${data.id}`,
          }),
    });
  });
}

/** The events and the channels that the options ask for. */
async function askedFor(
  { prompts }: Invocation,
  at: InTeam,
  { event, channel }: CreateOptions,
): Promise<{ events: WebhookEvent[]; channel_ids?: string[] }> {
  const events = await prompts.choices(event, {
    question: "Which events should be sent?",
    option: "--event EVENT",
    words: webhookEvents,
  });
  return {
    events: events as WebhookEvent[],
    ...(channel && { channel_ids: await channelIdsOf(at, channel) }),
  };
}

function addDelete(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "delete [webhook]", {
    summary: "Delete a subscription and drop its pending events",
    examples: ["parley webhooks delete CI --yes"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { id, name } = await chosenSubscription(invocation, at, given);
    await invocation.prompts.confirm(`Delete the subscription ${name}? Its pending events are dropped.`);
    const deleted = await at.database.write((tx) => deleteSubscription(tx, at.team.id, id, invocation.actor));
    invocation.output.done({
      data: deleted,
      said: `Deleted the subscription ${name}.`,
      brief: id,
      next: "parley webhooks list",
    });
  });
}

/** The names of the headers of its own, where there are any. */
function headerLines({ header_names }: WebhookSubscription): Array<[string, string]> {
  return header_names.length === 0
    ? []
    : [["headers", `${header_names.join(", ")} (values are never shown)`]];
}

/** Where the events go; of a subscription without a URL, that they are read. */
function destinationOf({ url }: WebhookSubscription): string {
  return url ?? "only read";
}

function shortStatus({ status, consecutive_failures }: WebhookSubscription): string {
  return status === "active" && consecutive_failures > 0 ? `failing (${consecutive_failures})` : status;
}
