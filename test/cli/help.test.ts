import { expect, test } from "bun:test";
import type { Command } from "commander";
import { parleyProgram } from "../../cli/program.ts";
import { run } from "../support/cli.ts";

type Described = { path: string[]; command: Command };

function commandsUnder(command: Command, path: string[] = []): Described[] {
  const children = command.commands.flatMap((child) => commandsUnder(child, [...path, child.name()]));
  return [{ path, command }, ...children];
}

const commands = commandsUnder(parleyProgram({}));

/** What the compiled program prints for people without a terminal, who are taken to have 80 columns. */
async function compiledHelp(path: string[]): Promise<string> {
  const { status, stdout, stderr } = await run("/nonexistent", [...path, "--help"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

/** The same text without a start of the program, of which there would be one for each verb. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return text;
}

test("the command line has the specified nouns and verbs", () => {
  expect(commands.map(({ path }) => path.join(" "))).toEqual(
    expect.arrayContaining([
      "init",
      "quickstart",
      "serve",
      "openapi",
      "licenses",
      "audit list",
      ...["list", "create", "rename"].map((verb) => `teams ${verb}`),
      ...["list", "create", "set-role", "deactivate", "reactivate"].map((verb) => `users ${verb}`),
      ...["list", "create", "delete"].map((verb) => `bots ${verb}`),
      ...["list", "show", "create", "direct", "archive", "unarchive"].map((verb) => `channels ${verb}`),
      ...["add-member", "remove-member", "members"].map((verb) => `channels ${verb}`),
      ...["list", "create", "revoke"].map((verb) => `tokens ${verb}`),
      ...["list", "create", "revoke", "rotate-secret"].map((verb) => `incoming-webhooks ${verb}`),
      ...["list", "show", "create", "delete"].map((verb) => `webhooks ${verb}`),
      ...["enable", "disable", "rotate-secret", "ping"].map((verb) => `webhooks ${verb}`),
      ...["list", "show", "replay"].map((verb) => `deliveries ${verb}`),
      "listen",
      ...["list", "add", "remove"].map((verb) => `emoji ${verb}`),
    ]),
  );
});

test.concurrent.each(commands.map(({ path, command }) => [path.join(" "), path, command] as const))(
  "parley %s --help says what it does, with an example of itself",
  async (name, path, command) => {
    const help = path.length < 2 ? await compiledHelp(path) : helpOf(command);
    const lines = help.split("\n");
    expect(lines[0]).toStartWith(`Usage: parley ${name}`.trim());
    expect(lines[2]).toMatch(/^[A-Z]/);
    const [described = "", examples = ""] = help.split(/^Examples?:\n/m);
    expect(examples).toMatch(new RegExp(`^  .*parley ${name}`));
    for (const [option] of examples.matchAll(/--[a-z-]+/g)) expect(described).toContain(option);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  },
);

test("parley --help groups what it lists, and gives the name alone so that most lines fit", async () => {
  const help = await compiledHelp([]);
  expect(help.match(/^[A-Z].*:$/gm)).toEqual([
    "Options:",
    "Run a server:",
    "Manage a team:",
    "Connect programs:",
    "Keep the data safe:",
    "More:",
    "Example:",
  ]);
  const listed = help.slice(help.indexOf("Run a server:")).matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm);
  expect(new Set([...listed].map(([, name]) => name))).toEqual(
    new Set(["help", ...commands.filter(({ path }) => path.length === 1).map(({ path }) => path[0])]),
  );
});

test("a verb's help is what the compiled program prints", async () => {
  const [verb] = commands.filter(({ path }) => path.length === 2);
  expect(await compiledHelp(verb?.path ?? [])).toBe(helpOf(verb?.command as Command));
});

test("the version is one line with the commit that was built", async () => {
  const { status, stdout } = await run("/nonexistent", ["--version"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+( \([0-9a-f]{7,40}(-dirty)?\))?\n$/);
});
