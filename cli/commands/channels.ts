import { type Command, Option } from "commander";
import {
  createChannel,
  getChannelNamed,
  listAllChannels,
  listedChannel,
  setArchived,
} from "../../src/channels/channels.ts";
import { openDirect } from "../../src/channels/direct.ts";
import { channelVisibilities } from "../../src/channels/schemas.ts";
import { getUserNamed, subjectOf } from "../../src/users/users.ts";
import { channelKind, channelTitle } from "../terminal/channel-view.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { channelReference, userReference } from "../invocation/references.ts";
import { relativeTime } from "../terminal/relative-time.ts";
import { addMemberVerbs } from "./channel-members.ts";

type CreateOptions = { name?: string; visibility?: string; topic?: string; as?: string };

/** `parley channels`: every channel of a team, including private ones and direct messages. */
export function addChannels(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "channels", {
    summary: "List, create and archive channels; manage their members",
    examples: ["parley channels list"],
  });
  addList(noun, invocation);
  addShow(noun, invocation);
  addCreate(noun, invocation);
  addDirect(noun, invocation);
  addArchive(noun, invocation);
  addUnarchive(noun, invocation);
  addMemberVerbs(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list", {
    summary: "List all channels, including direct messages",
    examples: ["parley channels list", "parley channels list --json"],
  });
  invocation.teamAction(command, async ({ database, team }) => {
    invocation.output.list(
      await database.ask((db) => listAllChannels(db, team.id)),
      [
        { title: "NAME", of: channelTitle, canShrink: true },
        { title: "KIND", of: channelKind },
        { title: "TOPIC", of: ({ topic }) => topic ?? "", canShrink: true },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no channel yet.", next: "parley channels members CHANNEL" },
    );
  });
}

function addShow(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "show [channel]", {
    summary: "Show a channel",
    examples: ["parley channels show general"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const reference = await channelReference(invocation, at, given);
    const channel = listedChannel(await at.database.ask((db) => getChannelNamed(db, at.team.id, reference)));
    invocation.output.details(
      channel,
      [
        ["name", channelTitle(channel)],
        ["kind", channelKind(channel) + (channel.is_general ? ", the team's general channel" : "")],
        ["topic", channel.topic ?? "none"],
        ["slug", channel.slug],
        ["created", relativeTime(channel.created_at)],
        ["id", channel.id],
      ],
      `parley channels members ${channel.id}`,
    );
  });
}

function addCreate(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "create", {
    summary: "Create a channel on behalf of a user, its first member",
    examples: ['parley channels create --name deploys --visibility public --as "Ada Lovelace"'],
  })
    .option("--name <name>", "the channel's name")
    .addOption(new Option("--visibility <visibility>", "who may read it").choices(channelVisibilities))
    .option("--topic <topic>", "the channel's topic")
    .option("--as <user>", "the user who creates it");
  invocation.teamAction(command, async (at, options: CreateOptions) => {
    const { database, team } = at;
    const { prompts, actor, output } = invocation;
    const name = await prompts.text(options.name, {
      question: "What is the channel called?",
      option: "--name NAME",
    });
    const visibility = await prompts.choice(options.visibility, {
      question: "Who may read it?",
      option: "--visibility public or --visibility private",
      choices: () => [
        { value: "public", label: "public", hint: "the whole team" },
        { value: "private", label: "private", hint: "its members" },
      ],
    });
    const creator = await userReference(invocation, at, options.as, {
      question: "Who creates it?",
      option: "--as USER",
    });
    const channel = await database.write(async (tx) => {
      const subject = subjectOf(await getUserNamed(tx, team.id, creator));
      return await createChannel(tx, subject, { name, visibility, topic: options.topic ?? null }, actor);
    });
    output.done({
      data: channel,
      said: `Created the ${channel.visibility} channel ${channelTitle(channel)}.`,
      brief: channel.id,
      next: `parley channels add-member ${channel.id} USER`,
    });
  });
}

function addDirect(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "direct [user] [other]", {
    summary: "Find or open the direct messages between two users",
    examples: ['parley channels direct "Ada Lovelace" "Grace Hopper"'],
  });
  invocation.teamAction(command, async (at, givenOne?: string, givenOther?: string) => {
    const { database, team } = at;
    const one = await userReference(invocation, at, givenOne, {
      question: "Who is the first user?",
      option: "USER",
    });
    const other = await userReference(invocation, at, givenOther, {
      question: "Who is the second user?",
      option: "The other USER",
    });
    const channel = await database.write(async (tx) =>
      openDirect(
        tx,
        await getUserNamed(tx, team.id, one),
        await getUserNamed(tx, team.id, other),
        invocation.actor,
      ),
    );
    invocation.output.done({
      data: channel,
      said: `The direct messages between ${channelTitle(channel)} are in channel ${channel.id}.`,
      brief: channel.id,
      next: `parley channels show ${channel.id}`,
    });
  });
}

function addArchive(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "archive [channel]", {
    summary: "Make a channel read-only",
    examples: ["parley channels archive deploys --yes"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { database, team } = at;
    const reference = await channelReference(invocation, at, given);
    const { id, name, isDirect } = await database.ask((db) => getChannelNamed(db, team.id, reference));
    await invocation.prompts.confirm(
      `Archive ${channelTitle({ name, is_direct: isDirect })}? It becomes read-only.`,
    );
    const channel = await database.write(async (tx) =>
      setArchived(tx, await getChannelNamed(tx, team.id, id), true, invocation.actor),
    );
    invocation.output.done({
      data: channel,
      said: `Archived ${channelTitle(channel)}. It is read-only now.`,
      brief: channel.id,
      next: `parley channels unarchive ${channel.id}`,
    });
  });
}

function addUnarchive(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "unarchive [channel]", {
    summary: "Make an archived channel writable again",
    examples: ["parley channels unarchive deploys"],
  });
  invocation.teamAction(command, async (at, given?: string) => {
    const { database, team } = at;
    const reference = await channelReference(invocation, at, given);
    const channel = await database.write(async (tx) =>
      setArchived(tx, await getChannelNamed(tx, team.id, reference), false, invocation.actor),
    );
    invocation.output.done({
      data: channel,
      said: `Unarchived ${channelTitle(channel)}.`,
      brief: channel.id,
      next: `parley channels show ${channel.id}`,
    });
  });
}
