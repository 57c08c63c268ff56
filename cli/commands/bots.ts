import type { Command } from "commander";
import { createBot, deleteBot, listBots } from "../../src/accounts/bots.ts";
import { channelResource, getChannelNamed } from "../../src/channels/channels.ts";
import { getUser, getUserNamed, userResource } from "../../src/users/users.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { botReference } from "../invocation/references.ts";
import { webhooksOfGone } from "../terminal/creator-view.ts";

type CreateOptions = { name?: string; channel?: string[] };
type DeleteOptions = { keepWebhooks?: true };

/** `parley bots`: the programs among the users of a team. */
export function addBots(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "bots", {
    summary: "List, create and delete bots",
    examples: ["parley bots list"],
  });

  const list = addCommand(noun, "list", { summary: "List the bots", examples: ["parley bots list"] });
  invocation.teamAction(list, async ({ database, team }) => {
    invocation.output.list(
      await database.ask((db) => listBots(db, team.id)),
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no bot yet.", next: "parley bots create --name NAME --channel general" },
    );
  });

  const create = addCommand(noun, "create", {
    summary: "Create a bot and add it to channels",
    examples: ['parley bots create --name "Build Bot" --channel general --channel deploys'],
  })
    .option("--name <name>", "the bot's name")
    .option("--channel <channel...>", "a channel to add it to; a bot sees only its channels");
  invocation.teamAction(create, async ({ database, team }, options: CreateOptions) => {
    const name = await invocation.prompts.text(options.name, {
      question: "What is the bot called?",
      option: "--name NAME",
    });
    const { bot, joined } = await database.write(async (tx) => {
      const channels = new Map<string, ChannelRow>();
      for (const reference of options.channel ?? []) {
        const channel = await getChannelNamed(tx, team.id, reference);
        // A channel may be given twice, by its slug and by its id.
        channels.set(channel.id, channel);
      }
      const row = await createBot(tx, team.id, { name, channels: [...channels.values()] }, invocation.actor);
      return { bot: userResource(row), joined: [...channels.values()].map(channelResource) };
    });
    invocation.output.done({
      data: bot,
      said: `Created the bot ${bot.name}, in ${joined.map(channelTitle).join(", ") || "no channel yet"}.`,
      brief: bot.id,
      next:
        joined.length > 0
          ? `parley tokens create --bot ${bot.id} --all-scopes`
          : `parley channels add-member CHANNEL ${bot.id}`,
    });
  });

  const remove = addCommand(noun, "delete [bot]", {
    summary: "Delete a bot and revoke its tokens; its messages stay",
    examples: ['parley bots delete "Build Bot" --yes'],
  }).option("--keep-webhooks", "do not disable the subscriptions that the bot created");
  invocation.teamAction(remove, async (at, given: string | undefined, { keepWebhooks }: DeleteOptions) => {
    const { database, team } = at;
    const reference = await botReference(invocation, at, given);
    const { id, name } = await database.ask((db) => getUserNamed(db, team.id, reference, { type: "bot" }));
    await invocation.prompts.confirm(`Delete the bot ${name} and revoke all its tokens?`);
    const bot = await database.write(async (tx) =>
      deleteBot(tx, await getUser(tx, team.id, id), invocation.actor, { keepWebhooks }),
    );
    invocation.output.done({
      data: bot,
      said: [
        `Deleted the bot ${bot.name}. Its messages stay.`,
        ...webhooksOfGone(bot, invocation.visibility),
      ],
      brief: bot.id,
      next: "parley bots list",
    });
  });
}
