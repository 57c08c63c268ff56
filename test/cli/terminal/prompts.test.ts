import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createChannel, listChannels } from "../../../src/channels/channels.ts";
import { listBots } from "../../../src/accounts/bots.ts";
import { listTeams } from "../../../src/teams/teams.ts";
import { listTokens } from "../../../src/tokens/tokens.ts";
import { listPeople } from "../../../src/accounts/people.ts";
import { subjectOf } from "../../../src/users/users.ts";
import { keys, onTerminal } from "../../support/cli.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let acme: Awaited<ReturnType<Workspace["team"]>>;
beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  acme = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

describe("on a terminal a prompt asks for a missing answer", () => {
  test("the names of a new workspace, with the login name suggested for the owner", async () => {
    using empty = temporaryFolder();
    const dataDir = join(empty.path, "data");
    await using screen = onTerminal(dataDir, ["init"]);
    await screen.shows("What is the team called?");
    screen.type(`Acme${keys.enter}`);
    await screen.shows("Who owns it?");
    screen.type(keys.enter);
    await screen.shows("Created the workspace of Acme");
    expect(await screen.ended()).toBe(0);

    await using made = await openWorkspace(dataDir);
    const [team] = await made.database.ask(listTeams);
    expect(team?.name).toBe("Acme");
    const [owner] = await made.database.ask((db) => listPeople(db, team?.id ?? ""));
    expect(owner?.name).toBe(Bun.spawnSync(["id", "-un"]).stdout.toString().trim());
  });

  test("a name, which must not be empty", async () => {
    await using screen = onTerminal(folder.path, ["users", "create"]);
    await screen.shows("What is the person called?");
    screen.type(keys.enter);
    await screen.shows("Please answer");
    screen.type(`Grace Hopper${keys.enter}`);
    await screen.shows("Added Grace Hopper to Acme as member.");
    expect(await screen.ended()).toBe(0);
  });

  test("one of the existing channels, found by typing", async () => {
    await workspace.channel(acme.owner, "deploys", "private");
    await using screen = onTerminal(folder.path, ["channels", "show"]);
    await screen.shows("#deploys");
    await screen.shows("#general");
    screen.type("depl");
    await screen.shows("depl");
    screen.type(keys.enter);
    await screen.shows("kind     private");
    expect(await screen.ended()).toBe(0);
  });

  test("until one is found", async () => {
    await using screen = onTerminal(folder.path, ["channels", "show"]);
    await screen.shows("Which channel?");
    screen.type("nowhere");
    await screen.shows("No matches found");
    screen.type(keys.enter);
    await screen.shows("Please choose one, or press Ctrl-C.");
    screen.type(keys.interrupt);
    await screen.shows("Cancelled. Nothing was changed.");
    expect(await screen.ended()).toBe(1);
  });

  test("everything that a channel needs", async () => {
    await using screen = onTerminal(folder.path, ["channels", "create"]);
    await screen.shows("What is the channel called?");
    screen.type(`lobby${keys.enter}`);
    await screen.shows("Who may read it?");
    screen.type(keys.down + keys.enter);
    await screen.shows("Who creates it?");
    screen.type(keys.enter);
    await screen.shows("Created the private channel #lobby.");
    expect(await screen.ended()).toBe(0);
  });

  test("who a token acts as and what it may do: nothing is granted by default", async () => {
    const bot = await workspace.bot(acme.id, "Build Bot");
    await using screen = onTerminal(folder.path, ["tokens", "create", "--bot", bot.id]);
    await screen.shows("What may it do?");
    screen.type(keys.down + keys.space + keys.enter);
    await screen.shows("It is shown only once:");
    expect(await screen.ended()).toBe(0);
    const [token] = await workspace.database.ask((db) => listTokens(db, acme.id));
    expect(token).toMatchObject({ user: { id: bot.id }, scopes: ["channels:write"] });
  });

  test("the team, if there are several", async () => {
    using two = temporaryFolder();
    {
      await using teams = await openWorkspace(two.path);
      await teams.team("Acme");
      await teams.team("Umbrella");
    }
    await using screen = onTerminal(two.path, ["users", "list"]);
    await screen.shows("Which team?");
    screen.type(keys.down + keys.enter);
    await screen.shows("Umbrella owner");
    expect(await screen.ended()).toBe(0);
  });
});

describe("on a terminal a destructive verb asks first", () => {
  test("and acts after a yes", async () => {
    await workspace.bot(acme.id, "Old Bot");
    await using screen = onTerminal(folder.path, ["bots", "delete", "Old Bot"]);
    await screen.shows("Delete the bot Old Bot and revoke all its tokens?");
    screen.type("y");
    await screen.shows("Deleted the bot Old Bot");
    expect(await screen.ended()).toBe(0);
    const bots = await workspace.database.ask((db) => listBots(db, acme.id));
    expect(bots.map(({ name }) => name)).not.toContain("Old Bot");
  });

  test.each([
    ["Enter, because no is suggested", keys.enter],
    ["no", "n"],
    ["Ctrl-C", keys.interrupt],
    ["Ctrl-D", keys.end],
  ])("and changes nothing after %s", async (_answer, key) => {
    const name = `kept-${Bun.randomUUIDv7()}`;
    await workspace.channel(acme.owner, name);
    await using screen = onTerminal(folder.path, ["channels", "archive", name]);
    await screen.shows(`Archive #${name}?`);
    screen.type(key);
    await screen.shows("Cancelled. Nothing was changed.");
    expect(await screen.ended()).toBe(1);
    const channels = await workspace.database.ask((db) => listChannels(db, subjectOf(acme.owner)));
    expect(channels.find((channel) => channel.name === name)?.is_archived).toBe(false);
  });

  test("but not with --yes", async () => {
    await workspace.bot(acme.id, "Older Bot");
    await using screen = onTerminal(folder.path, ["bots", "delete", "Older Bot", "--yes"]);
    expect(await screen.ended()).toBe(0);
    expect(screen.text).not.toContain("?");
  });
});

test("leaving a question unanswered creates nothing", async () => {
  using empty = temporaryFolder();
  await using screen = onTerminal(join(empty.path, "data"), ["init"]);
  await screen.shows("What is the team called?");
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(1);
  expect(readdirSync(empty.path)).toEqual([]);
});

test("with --json there are no prompts, even on a terminal", async () => {
  await using screen = onTerminal(folder.path, ["users", "create", "--json"]);
  expect(await screen.ended()).toBe(2);
  expect(screen.text).toBe('{"message":"What is the person called? --name NAME is missing."}\n');
});

describe("colours", () => {
  const isColored = (raw: string) =>
    raw
      .split("\u001b[")
      .slice(1)
      .some((sequence) => /^[0-9;]*m/.test(sequence));

  test("are on a terminal", async () => {
    await using screen = onTerminal(folder.path, ["teams", "list"]);
    expect(await screen.ended()).toBe(0);
    expect(isColored(screen.raw)).toBe(true);
  });

  test.each([
    ["--no-color", ["--no-color"], {}],
    ["NO_COLOR", [], { NO_COLOR: "1" }],
    ["TERM=dumb", [], { TERM: "dumb" }],
  ])("are not there with %s", async (_what, options, environment) => {
    await using screen = onTerminal(folder.path, ["teams", "list", ...options], environment);
    expect(await screen.ended()).toBe(0);
    expect(isColored(screen.raw)).toBe(false);
    await using failing = onTerminal(folder.path, ["channels", "show", "x", ...options], environment);
    expect(await failing.ended()).toBe(3);
    expect(failing.raw).toContain("error: ");
  });

  test("are not in a prompt with --no-color", async () => {
    await using screen = onTerminal(folder.path, ["users", "create", "--no-color"]);
    await screen.shows("What is the person called?");
    screen.type(keys.interrupt);
    expect(await screen.ended()).toBe(1);
    expect(isColored(screen.raw)).toBe(false);
  });
});

test("a table is no wider than the terminal", async () => {
  const topic = "deploys of every service, and who is on call ".repeat(5);
  await workspace.database.write((tx) =>
    createChannel(tx, subjectOf(acme.owner), { name: "wide", visibility: "public", topic }),
  );
  await using screen = onTerminal(folder.path, ["channels", "list"]);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain("…");
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
});
