import type { Command } from "commander";
import { addEmoji, listEmoji, removeEmoji } from "../../src/emoji/emoji.ts";
import { invalid } from "../../src/errors.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { relativeTime } from "../terminal/relative-time.ts";

type AddOptions = { image?: string };

/** Far above the limit of an emoji, in bytes; a larger file is not read just to be refused. */
const imageBytesReadMax = 1024 * 1024;

/** `parley emoji`: a team's custom emoji. */
export function addEmojiNoun(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "emoji", {
    summary: "List, add and remove custom emoji",
    examples: ["parley emoji list"],
  });

  const list = addCommand(noun, "list", {
    summary: "List the custom emoji",
    examples: ["parley emoji list"],
  });
  invocation.teamAction(list, async ({ database, team }) => {
    invocation.output.list(
      await database.ask((db) => listEmoji(db, team.id)),
      [
        { title: "NAME", of: ({ name }) => `:${name}:` },
        { title: "ADDED", of: ({ created_at }) => relativeTime(created_at) },
      ],
      { none: "There is no custom emoji yet.", next: "parley emoji add NAME --image FILE" },
    );
  });

  const add = addCommand(noun, "add [name]", {
    summary: "Add an emoji that reactions refer to as :NAME:",
    examples: ["parley emoji add shipit --image shipit.png"],
  }).option("--image <file>", "its image: PNG, GIF, JPEG or WebP");
  invocation.teamAction(add, async ({ database, team }, given: string | undefined, options: AddOptions) => {
    const name = await invocation.prompts.text(given, {
      question: "What is the emoji called?",
      option: "NAME",
    });
    const image = options.image === undefined ? undefined : await readImage(options.image);
    const emoji = await database.write((tx) => addEmoji(tx, team.id, { name, image }, invocation.actor));
    invocation.output.done({
      data: emoji,
      said: `Added :${emoji.name}:`,
      brief: emoji.name,
      next: "parley emoji list",
    });
  });

  const remove = addCommand(noun, "remove [name]", {
    summary: "Remove an emoji; existing reactions stay",
    examples: ["parley emoji remove shipit --yes"],
  });
  invocation.teamAction(remove, async ({ database, team }, given?: string) => {
    const reference = await invocation.prompts.choice(given, {
      question: "Which emoji?",
      option: "NAME",
      choices: async () =>
        (await database.ask((db) => listEmoji(db, team.id))).map(({ name }) => ({
          value: name,
          label: `:${name}:`,
        })),
    });
    await invocation.prompts.confirm(`Remove the emoji ${reference}?`);
    const emoji = await database.write((tx) => removeEmoji(tx, team.id, reference, invocation.actor));
    invocation.output.done({
      data: emoji,
      said: `Removed :${emoji.name}:`,
      brief: emoji.name,
      next: "parley emoji list",
    });
  });
}

async function readImage(path: string): Promise<Uint8Array> {
  try {
    return await Bun.file(path).slice(0, imageBytesReadMax).bytes();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid({ image: [`Cannot read the image ${path}: ${why}`] });
  }
}
