import { listAllChannels } from "../../src/channels/channels.ts";
import { listBots } from "../../src/accounts/bots.ts";
import { listTeams } from "../../src/teams/teams.ts";
import { listPeople } from "../../src/accounts/people.ts";
import { channelTitle } from "../terminal/channel-view.ts";
import type { InTeam, Invocation } from "./invocation.ts";
import type { Choice } from "../terminal/prompts.ts";

/** What a person is asked when a command leaves open which one it is about. */
type Asked = { question: string; option: string };

/** The team that was named, or the id of the one that the person chooses. */
export async function teamReference(
  { prompts }: Invocation,
  { read }: InTeam["database"],
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which team?",
    option: "TEAM",
    choices: async () =>
      (await listTeams(read)).map(({ id, name, slug }) => ({ value: id, label: name, hint: slug })),
  });
}

/** The channel that was named, or the id of the one that the person chooses. */
export async function channelReference(
  { prompts }: Invocation,
  { database, team }: InTeam,
  given: string | undefined,
): Promise<string> {
  return await prompts.choice(given, {
    question: "Which channel?",
    option: "CHANNEL",
    choices: async () =>
      (await listAllChannels(database.read, team.id)).map((channel) => ({
        value: channel.id,
        label: channelTitle(channel),
      })),
  });
}

/** The person that was named, or the id of the one that is chosen among those who are active, or who are not. */
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
      (await listPeople(database.read, team.id))
        .filter(({ active }) => active === wanted.active)
        .map(({ id, name, role }) => ({ value: id, label: name, hint: role })),
  });
}

/** The bot that was named, or the id of the one that is chosen. */
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

/** The person or bot that was named, or the id of the one that is chosen among all who are active. */
export async function userReference(
  { prompts }: Invocation,
  at: InTeam,
  given: string | undefined,
  asked: Asked,
): Promise<string> {
  return await prompts.choice(given, {
    ...asked,
    choices: async () => {
      const people = (await listPeople(at.database.read, at.team.id)).filter(({ active }) => active);
      return [
        ...people.map(({ id, name, role }) => ({ value: id, label: name, hint: role })),
        ...(await botChoices(at)),
      ];
    },
  });
}

async function botChoices({ database, team }: InTeam): Promise<Choice[]> {
  return (await listBots(database.read, team.id)).map(({ id, name }) => ({
    value: id,
    label: name,
    hint: "bot",
  }));
}
