import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listTokens } from "../../src/tokens/tokens.ts";
import type { UserRow } from "../../src/users/store.ts";
import { keys, onTerminal, run } from "../support/cli.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

let folder: TemporaryFolder;
let workspace: Workspace;
let acme: Awaited<ReturnType<Workspace["team"]>>;
let bot: UserRow;
beforeAll(async () => {
  folder = temporaryFolder();
  workspace = await openWorkspace(folder.path);
  acme = await workspace.team("Acme");
  bot = await workspace.bot(acme.id, "Build Bot");
  await workspace.person(acme.id, "Max Member");
  await workspace.person(acme.id, "Ada Admin", "admin");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const create = (...args: string[]) => ["tokens", "create", ...args];
const subscribing = ["--scope", "webhooks:write"];
const asked = "Grant webhooks:write, and with it the messages of the whole workspace, to Build Bot?";

async function tokens(): Promise<number> {
  return (await workspace.database.ask((db) => listTokens(db, acme.id))).length;
}

describe("without a terminal a token that may subscribe is created with a warning about what that opens", () => {
  test.each([
    ["to a bot", ["--bot", "Build Bot", ...subscribing], "Build Bot"],
    ["to a plain member", ["--user", "Max Member", "--all-scopes"], "Max Member"],
  ])("%s", async (_who, args, name) => {
    const { status, stdout, stderr } = await run(folder.path, create(...args));
    expect(status).toBe(0);
    expect(stdout).toContain("It is shown only once:");
    expect(stderr).toContain(
      `the messages of the whole workspace are sent to any URL that ${name} registers`,
    );
    expect(stderr).toContain("including private channels and direct messages");
    expect(stderr).toContain("WEBHOOKS_VISIBILITY=creator narrows that");
  });

  test("and about what it opens with WEBHOOKS_VISIBILITY=creator", async () => {
    const args = create("--bot", "Build Bot", ...subscribing);
    const { stderr } = await run(folder.path, args, { WEBHOOKS_VISIBILITY: "creator" });
    expect(stderr).toContain("the messages of the channels that Build Bot may see are sent");
    expect(stderr).not.toContain("the messages of the whole workspace are sent");
  });

  test("but not to programs", async () => {
    for (const option of ["--json", "--quiet"]) {
      const { status, stdout, stderr } = await run(
        folder.path,
        create("--bot", bot.id, ...subscribing, option),
      );
      expect({ status, lines: stdout.split("\n").length }).toEqual({ status: 0, lines: 2 });
      expect(stderr).not.toContain("webhooks:write");
    }
  });

  test.each([
    ["an owner", ["--user", "Acme owner", "--all-scopes"]],
    ["an admin", ["--user", "Ada Admin", "--all-scopes"]],
    ["a bot that may not subscribe", ["--bot", "Build Bot", "--scope", "webhooks:read", "messages:write"]],
  ])("nor for %s", async (_who, args) => {
    const { status, stderr } = await run(folder.path, create(...args));
    expect(status).toBe(0);
    expect(stderr).not.toContain("webhooks:write");
  });
});

describe("on a terminal such a token needs a confirmation", () => {
  test("and is created after a yes", async () => {
    const before = await tokens();
    await using screen = onTerminal(folder.path, create("--bot", bot.id, ...subscribing));
    await screen.shows("the messages of the whole workspace are sent to any URL");
    await screen.shows("that Build Bot registers");
    await screen.shows("Grant webhooks:write");
    screen.type("y");
    await screen.shows("It is shown only once:");
    expect(await screen.ended()).toBe(0);
    expect(screen.text.replaceAll(/\s+│?\s*/g, " ")).toContain(asked);
    expect(await tokens()).toBe(before + 1);
  });

  test("and is not created after Enter, because no is the default", async () => {
    const before = await tokens();
    await using screen = onTerminal(folder.path, create("--bot", bot.id, ...subscribing, "--quiet"));
    await screen.shows("Grant webhooks:write");
    screen.type(keys.enter);
    await screen.shows("Cancelled. Nothing was changed.");
    expect(await screen.ended()).toBe(1);
    expect(await tokens()).toBe(before);
  });

  test.each([["--yes"], ["--json"]])("but not with %s", async (option) => {
    await using screen = onTerminal(folder.path, create("--bot", bot.id, ...subscribing, option));
    expect(await screen.ended()).toBe(0);
    expect(screen.text).not.toContain("?");
  });
});
