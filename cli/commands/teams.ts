import type { Command } from "commander";
import { createTeam, getTeamNamed, listTeams, renameTeam } from "../../src/teams/teams.ts";
import { addCommand } from "../invocation/command.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { teamReference } from "../invocation/references.ts";
import { addNotify } from "./team-alerts.ts";

type NameOptions = { name?: string };

/** `parley teams`: the teams in this data folder. */
export function addTeams(program: Command, invocation: Invocation): void {
  const noun = addCommand(program, "teams", {
    summary: "List, create and rename teams, and have them told of trouble",
    examples: ["parley teams list"],
  });

  const list = addCommand(noun, "list", {
    summary: "List the teams",
    examples: ["parley teams list"],
  });
  invocation.workspaceAction(list, async (database) => {
    invocation.output.list(
      await database.ask(listTeams),
      [
        { title: "NAME", of: ({ name }) => name, canShrink: true },
        { title: "SLUG", of: ({ slug }) => slug, canShrink: true },
        { title: "ID", of: ({ id }) => id },
      ],
      { none: "There is no team yet.", next: "parley channels list --team SLUG" },
    );
  });

  const create = addCommand(noun, "create", {
    summary: "Create a team and its #general channel",
    examples: ['parley teams create --name "Research"'],
  }).option("--name <name>", "the team's name");
  invocation.workspaceAction(create, async (database, options: NameOptions) => {
    const name = await invocation.prompts.text(options.name, {
      question: "What is the team called?",
      option: "--name NAME",
    });
    const { team } = await database.write((tx) => createTeam(tx, { name }, invocation.actor));
    invocation.output.done({
      data: team,
      said: `Created the team ${team.name} with the slug ${team.slug}.`,
      brief: team.id,
      next: `parley users create --team ${team.slug} --role owner --name NAME`,
    });
  });

  const rename = addCommand(noun, "rename [team]", {
    summary: "Rename a team, which changes its slug too",
    examples: ['parley teams rename research --name "Research and Development"'],
  }).option("--name <name>", "the new name");
  invocation.workspaceAction(rename, async (database, given: string | undefined, options: NameOptions) => {
    const reference = await teamReference(invocation, database, given);
    const before = await database.ask((db) => getTeamNamed(db, reference));
    const name = await invocation.prompts.text(options.name, {
      question: "What is the new name?",
      option: "--name NAME",
    });
    const team = await database.write((tx) => renameTeam(tx, before, { name }, invocation.actor));
    invocation.output.done({
      data: team,
      said: `Renamed the team ${before.name} to ${team.name}; its slug is ${team.slug}.`,
      brief: team.id,
      next: "parley teams list",
    });
  });

  addNotify(noun, invocation);
}
