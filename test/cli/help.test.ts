import { expect, test } from "bun:test";
import type { Command } from "commander";
import { parleyProgram } from "../../cli/program.ts";
import { run } from "../support/cli.ts";

function pathsUnder(command: Command, path: string[] = []): string[][] {
  const children = command.commands.flatMap((child) => pathsUnder(child, [...path, child.name()]));
  return [path, ...children];
}

const paths = pathsUnder(parleyProgram({}));

test("the command line has the nouns and verbs that it promises", () => {
  expect(paths.map((path) => path.join(" "))).toEqual(
    expect.arrayContaining([
      "init",
      "quickstart",
      "serve",
      "openapi",
      "audit list",
      ...["list", "create", "rename"].map((verb) => `teams ${verb}`),
      ...["list", "create", "set-role", "deactivate", "reactivate"].map((verb) => `users ${verb}`),
      ...["list", "create", "delete"].map((verb) => `bots ${verb}`),
      ...["list", "show", "create", "direct", "archive", "unarchive"].map((verb) => `channels ${verb}`),
      ...["add-member", "remove-member", "members"].map((verb) => `channels ${verb}`),
      ...["list", "create", "revoke"].map((verb) => `tokens ${verb}`),
      ...["list", "add", "remove"].map((verb) => `emoji ${verb}`),
    ]),
  );
});

test.concurrent.each(paths.map((path) => [path.join(" "), path] as const))(
  "parley %s --help says what it does, with an example of itself",
  async (name, path) => {
    const { status, stdout, stderr } = await run("/nonexistent", [...path, "--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toStartWith(`Usage: parley ${name}`.trim());
    expect(lines[2]).toMatch(/^[A-Z]/);
    const [described = "", examples = ""] = stdout.split(/^Examples?:\n/m);
    expect(examples).toMatch(new RegExp(`^  .*parley ${name}`));
    for (const [option] of examples.matchAll(/--[a-z-]+/g)) expect(described).toContain(option);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  },
);

test("the version is one line", async () => {
  const { status, stdout } = await run("/nonexistent", ["--version"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
