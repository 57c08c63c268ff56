import { type Command, Option } from "commander";
import { getChannelNamed, listChannels } from "../../src/channels/channels.ts";
import {
  createIncomingWebhook,
  type IncomingWebhook,
  listIncomingWebhooks,
  revokeIncomingWebhook,
} from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { getSender, senders } from "../../src/incoming-webhooks/senders/senders.ts";
import { getUser, getUserNamed, subjectOf } from "../../src/users/users.ts";
import { incomingUrl, signingHint, title } from "../terminal/incoming-webhook-view.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { addCommand } from "../invocation/command.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { incomingWebhookReference } from "../invocation/incoming-webhook-reference.ts";
import { outgoing } from "../invocation/outgoing.ts";
import { botReference } from "../invocation/references.ts";
import { addRotateAddress, addRotateSecret } from "./rotate-incoming.ts";
import { addRefusedPosts } from "./refused-posts.ts";

type CreateOptions = { bot?: string; channel?: string; name?: string; signed?: true; for?: string };

/** `parley incoming-webhooks`: the secret URLs that post into a channel. */
export function addIncomingWebhooks(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "incoming-webhooks", {
    summary: "List, create and revoke URLs that post into a channel",
    examples: ["parley incoming-webhooks list"],
  });
  addList(noun, invocation);
  addCreate(noun, invocation);
  addRevoke(noun, invocation);
  addRotateAddress(noun, invocation);
  addRotateSecret(noun, invocation);
  addRefusedPosts(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list", {
    summary: "List active incoming webhooks, newest first",
    examples: ["parley incoming-webhooks list"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    const { output } = invocation;
    const webhooks = await database.ask((db) => listIncomingWebhooks(db, team.id));
    output.list(
      webhooks,
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "BOT", of: ({ bot }) => bot.name, canShrink: true },
        { title: "CHANNEL", of: ({ channel }) => `#${channel.name}`, canShrink: true },
        { title: "SIGNED", of: ({ signed }) => (signed ? "yes" : "no") },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no incoming webhook yet.", next: "parley incoming-webhooks create" },
    );
    if (!output.isJson) for (const note of overlapNotes(webhooks)) output.note(note);
  });
}

/** What still works beside what replaced it. */
function overlapNotes(webhooks: readonly IncomingWebhook[]): string[] {
  return webhooks.flatMap(({ name, old_address_until: address, old_secret_until: secret }) => [
    ...(address === undefined ? [] : [`The old address of ${name} works until ${address}.`]),
    ...(secret === undefined ? [] : [`The old secret of ${name} is accepted until ${secret}.`]),
  ]);
}

function addCreate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "create", {
    summary: "Create a URL that posts into a channel as a bot; it is shown once",
    examples: [
      'parley incoming-webhooks create --bot "Build Bot" --channel general',
      'parley incoming-webhooks create --bot "Build Bot" --channel deploys --signed',
      "parley incoming-webhooks create --bot CI --channel deploys --for slack",
    ],
  })
    .option("--bot <bot>", "the bot that it posts as; must be in the channel")
    .option("--channel <channel>", "the channel that it posts into")
    .option("--name <label>", "a label (default: the bot's name)")
    .option("--signed", "require signed requests")
    .addOption(
      new Option(
        "--for <sender>",
        "print what to paste into this program, and require its signature if it signs",
      ).choices(senders.map(({ suffix }) => suffix)),
    );
  invocation.teamAction(command, async (at, options: CreateOptions) => {
    const { database, team } = at;
    const botNamed = await botReference(invocation, at, options.bot, "--bot BOT");
    const { id: botId } = await database.ask((db) => getUserNamed(db, team.id, botNamed, { type: "bot" }));
    const channelNamed = await channelOf(invocation, at, botId, options.channel);
    const { vault } = outgoing(invocation);
    const sender = options.for === undefined ? undefined : getSender(options.for);
    const signed = options.signed === true || sender?.proof !== undefined;
    const { token, ...made } = await database.write(async (tx) => {
      const bot = await getUser(tx, team.id, botId);
      const channel = await getChannelNamed(tx, team.id, channelNamed);
      const input = { name: options.name ?? bot.name, signed };
      return await createIncomingWebhook(tx, vault, { bot, channel }, input, invocation.actor);
    });
    const url = incomingUrl(invocation.baseUrl, token) + (sender ? `/${sender.suffix}` : "");
    const setUp = sender?.setUp(url, made.secret);
    invocation.output.done({
      data: { ...made, url, ...(setUp && { set_up: setUp }) },
      said: [
        `Created an incoming webhook that posts into #${made.channel.name} as ${made.bot.name}.`,
        "Anyone who has the URL can post. It is shown only once:",
        "",
        `  ${url}`,
        "",
        ...(setUp ? [...setUp, ""] : []),
        // The lines of a sender that proves it in its own way have the secret in them.
        ...(made.secret === null || sender?.proof ? [] : signingHint(made.secret)),
      ],
      brief: url,
      ...(made.secret === null && !setUp && { next: `curl -d '{"text":"Hello"}' URL` }),
    });
  });
}

/** The channel that was given, or else the one chosen at a prompt from those that the bot can post into. */
async function channelOf(
  { prompts }: Invocation,
  { database, team }: InTeam,
  botId: string,
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which channel?",
    option: "--channel CHANNEL",
    choices: async () => {
      const channels = await database.ask(async (db) =>
        listChannels(db, subjectOf(await getUser(db, team.id, botId))),
      );
      return channels.map((channel) => ({ value: channel.id, label: channelTitle(channel) }));
    },
  });
}

function addRevoke(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "revoke [id]", {
    summary: "Revoke an incoming webhook: its URL stops working immediately",
    examples: ["parley incoming-webhooks revoke 0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f --yes"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const webhook = await incomingWebhookReference(invocation, at, given);
    await invocation.prompts.confirm(`Revoke ${title(webhook)}? Its URL stops working for good.`);
    const revoked = await at.database.write((tx) =>
      revokeIncomingWebhook(tx, at.team.id, webhook.id, invocation.actor),
    );
    invocation.output.done({
      data: revoked,
      said: `Revoked ${title(webhook)}.`,
      brief: webhook.id,
      next: "parley incoming-webhooks list",
    });
  });
}
