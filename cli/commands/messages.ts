import type { Command } from "commander";
import { record } from "../../src/audit/audit.ts";
import { getChannelNamed } from "../../src/channels/channels.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import { DomainError } from "../../src/errors.ts";
import { readLatestMessages, readMessagesAfter } from "../../src/messages/all-messages.ts";
import { getMessageIn, postMessage } from "../../src/messages/messages.ts";
import { messageResource } from "../../src/messages/resource.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { findMessage } from "../../src/messages/search.ts";
import { getUserNamed, subjectOf } from "../../src/users/users.ts";
import { addCommand } from "../invocation/command.ts";
import { follow } from "../invocation/following.ts";
import type { InTeam, Invocation } from "../invocation/invocation.ts";
import { channelReference, userReference } from "../invocation/references.ts";
import { wholeNumber } from "../invocation/whole-number.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { idColumns } from "../terminal/id-columns.ts";
import { relativeTime } from "../terminal/relative-time.ts";

type ListOptions = { limit: number };
type PostOptions = { as?: string; file?: string };

const messagesMax = 10_000;

/** A terminal of this width has room for whole ids. */
const roomForIds = 110;

/** `parley messages`: what was said in the channels, for the operator. */
export function addMessages(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "messages", {
    summary: "List, show, post and follow messages",
    examples: ["parley messages list general"],
  });
  addList(noun, invocation);
  addShow(noun, invocation);
  addPost(noun, invocation);
  addTail(noun, invocation);
}

function addList(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "list [channel]", {
    summary: "List a channel's messages, newest first",
    examples: ["parley messages list general --limit 10"],
  }).option("--limit <count>", "maximum number of messages", wholeNumber(1, messagesMax), 50);
  invocation.teamAction(command, async (at, given: string | undefined, { limit }: ListOptions) => {
    const channel = await channelOf(invocation, at, given);
    const { messages } = await at.database.ask((db) => readLatestMessages(db, channel.id, limit));
    invocation.output.list(
      messages.toReversed(),
      [
        { title: "WHEN", of: ({ created_at }) => relativeTime(created_at) },
        { title: "AUTHOR", of: authorOf, canShrink: true },
        { title: "MESSAGE", of: textOf, canShrink: true },
        ...idColumns<Message>(({ id }) => id, roomForIds),
      ],
      { none: "There is no message yet.", next: "parley messages show ID" },
    );
  });
}

function addShow(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "show <id>", {
    summary: "Show a message",
    examples: ["parley messages show 6b8a1c2d"],
  });
  invocation.teamAction(command, async ({ database, team }, reference: string) => {
    const { shown, channel } = await database.ask(async (db) => {
      const { id, channelId } = findMessage(db, team.id, reference);
      const { message, author } = getMessageIn(db, channelId, id);
      return {
        shown: messageResource(message, author),
        channel: await getChannelNamed(db, team.id, channelId),
      };
    });
    const reactions = shown.reactions.map(({ emoji, count }) => `${emoji} ${count}`).join(", ");
    invocation.output.details(
      shown,
      [
        ["channel", titleOf(channel)],
        ["author", authorOf(shown)],
        ["posted", `${shown.created_at} (${relativeTime(shown.created_at)})`],
        ...(shown.edited_at === null ? [] : [["edited", shown.edited_at] as const]),
        ...(shown.thread_root_id === null ? [] : [["thread", shown.thread_root_id] as const]),
        ...(shown.reply_to_id === null ? [] : [["reply to", shown.reply_to_id] as const]),
        ...(reactions === "" ? [] : [["reactions", reactions] as const]),
        ["message", textOf(shown)],
        ["id", shown.id],
      ],
      `parley deliveries explain ${shown.id}`,
    );
  });
}

function addPost(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "post [channel] [text]", {
    summary: "Post a message as a bot or a person of the channel",
    examples: [
      'parley messages post deploys "Version 12 is out" --as "Build Bot"',
      'git log -1 | parley messages post deploys --as "Build Bot" --file -',
    ],
  })
    .option("--as <user>", "the bot or person who posts it, a member of the channel")
    .option("--file <file>", "read the text from this file, or with - from standard input");
  invocation.teamAction(
    command,
    async (at, given: string | undefined, text: string | undefined, options: PostOptions) => {
      const { database, team } = at;
      const { output, prompts, actor } = invocation;
      const channel = await channelOf(invocation, at, given);
      const author = await userReference(invocation, at, options.as, {
        question: "Who posts it?",
        option: "--as USER",
      });
      if (text !== undefined && options.file !== undefined)
        throw new DomainError("usage", "Give the text or --file, not both.");
      const body =
        options.file === undefined
          ? await prompts.text(text, { question: "What is the message?", option: "TEXT or --file FILE" })
          : await textIn(options.file);
      const posted = await database.write(async (tx) => {
        const user = await getUserNamed(tx, team.id, author);
        const message = postMessage(tx, subjectOf(user), channel.id, { body });
        await record(tx, {
          teamId: team.id,
          actor,
          action: "message.posted",
          target: `message:${message.id}`,
          details: { channel: channel.name, as: user.name },
        });
        return message;
      });
      output.done({
        data: posted,
        said: `Posted in ${titleOf(channel)} as ${posted.author.name}.`,
        brief: posted.id,
        next: `parley deliveries explain ${posted.id}`,
      });
    },
  );
}

function addTail(noun: Command, invocation: Invocation): void {
  const command = addCommand(noun, "tail [channel]", {
    summary: "Print a channel's latest messages and each new one until Ctrl-C",
    examples: ["parley messages tail general"],
  }).option("--limit <count>", "how many earlier messages to begin with", wholeNumber(1, messagesMax), 10);
  invocation.teamAction(command, async (at, given: string | undefined, { limit }: ListOptions) => {
    const { output } = invocation;
    const { id } = await channelOf(invocation, at, given);
    if (output.isJson) {
      const message = "tail never ends, so its output cannot be one JSON document: leave --json out.";
      throw new DomainError("usage", message);
    }
    const latest = await at.database.ask((db) => readLatestMessages(db, id, limit));
    const print = (message: Message) => output.line(lineOf(message));
    const begin = () => {
      output.note("Following. Stop it with Ctrl-C.");
      latest.messages.forEach(print);
    };
    let { position } = latest;
    await follow(at.database, begin, async () => {
      const from = position;
      const fresh = await at.database.ask((db) => readMessagesAfter(db, id, from, messagesMax));
      fresh.messages.forEach(print);
      ({ position } = fresh);
    });
  });
}

async function channelOf(invocation: Invocation, at: InTeam, given: string | undefined): Promise<ChannelRow> {
  const reference = await channelReference(invocation, at, given);
  return await at.database.ask((db) => getChannelNamed(db, at.team.id, reference));
}

/** @throws DomainError `not_found` when there is no such file. */
async function textIn(file: string): Promise<string> {
  if (file === "-") return await Bun.stdin.text();
  if (await Bun.file(file).exists()) return await Bun.file(file).text();
  throw new DomainError("not_found", `There is no file ${file}.`);
}

/** With the time of day: "5m ago" would not stay true on the screen. */
function lineOf(message: Message): string {
  const time = new Date(message.created_at ?? 0).toLocaleTimeString("en-GB");
  return `${time}  ${authorOf(message)}: ${textOf(message)}`;
}

function titleOf({ name, isDirect }: ChannelRow): string {
  return channelTitle({ name, is_direct: isDirect });
}

/** The author, with the name that an incoming webhook gave for the message. */
function authorOf({ author, username }: Message): string {
  return username === null ? author.name : `${username} (${author.name})`;
}

/** The text; what happened for a notice, and for a message that was deleted. */
function textOf({ type, body }: Message): string {
  if (type === "standard") return body === "" ? "(deleted)" : body;
  return body === "" ? `(${type.replace("_", " ")})` : body;
}
