import { listAllChannels } from "../../src/channels/channels.ts";
import { listBots } from "../../src/accounts/bots.ts";
import { listTeams } from "../../src/teams/teams.ts";
import { listPeople } from "../../src/accounts/people.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import type { InTeam, Invocation } from "./invocation.ts";
import type { Choice } from "../terminal/prompts.ts";

/** The question for a missing reference, and the option or argument that answers it. */
type Asked = { question: string; option: string };

/** The given team reference, or else the id of the team chosen at a prompt. */
export async function teamReference(
  { prompts }: Invocation,
  database: InTeam["database"],
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which team?",
    option: "TEAM",
    choices: async () =>
      (await database.ask(listTeams)).map(({ id, name, slug }) => ({ value: id, label: name, hint: slug })),
  });
}

/** The given channel reference, or else the id of the channel chosen at a prompt. */
export async function channelReference(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which channel?",
    option: "CHANNEL",
    choices: async () =>
      (await database.ask((db) => listAllChannels(db, team.id))).map((channel) => ({
        value: channel.id,
        label: channelTitle(channel),
      })),
  });
}

/** The given reference, or else the id of the person chosen at a prompt, from active or deactivated ones. */
export async function personReference(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
  wanted: { active: boolean },
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which person?",
    option: "USER",
    choices: async () =>
      (await database.ask((db) => listPeople(db, team.id)))
        .filter(({ active }) => active === wanted.active)
        .map(({ id, name, role }) => ({ value: id, label: name, hint: role })),
  });
}

/** The given bot reference, or else the id of the bot chosen at a prompt. */
export async function botReference(
  { prompts }: Invocation,
  at: InTeam,
  given: string | undefined,
  option = "BOT",
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which bot?",
    option,
    choices: () => botChoices(at),
  });
}

/** The given reference, or else the id of the active person or bot chosen at a prompt. */
export async function userReference(
  { prompts }: Invocation,
  at: InTeam,
  given: string | undefined,
  asked: Asked,
): Promise<string> {
  return await prompts.choice(given, {
    ...asked,
    choices: async () => {
      const all = await at.database.ask((db) => listPeople(db, at.team.id));
      const people = all.filter(({ active }) => active);
      return [
        ...people.map(({ id, name, role }) => ({ value: id, label: name, hint: role })),
        ...(await botChoices(at)),
      ];
    },
  });
}

async function botChoices({ database, team }: InTeam): Promise<Choice[]> {
  return (await database.ask((db) => listBots(db, team.id))).map(({ id, name }) => ({
    value: id,
    label: name,
    hint: "bot",
  }));
}
