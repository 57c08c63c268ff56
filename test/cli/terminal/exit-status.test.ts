import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listAuditEntries } from "../../../src/audit/audit.ts";
import { findKey } from "../../../src/secrets/key-file.ts";
import { Vault } from "../../../src/secrets/vault.ts";
import { createSubscription } from "../../../src/subscriptions/subscriptions.ts";
import { listTeams } from "../../../src/teams/teams.ts";
import { engine } from "../../support/engine.ts";
import { run, runRefused } from "../../support/cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "../../support/workspace.ts";

const folder = temporaryFolder();
/** How often something was changed before anything was refused. */
let changes: number;
beforeAll(async () => {
  await using workspace = await openWorkspace(folder.path);
  const { id, owner, general } = await workspace.team("Acme");
  await workspace.person(id, "Grace Hopper");
  await workspace.person(id, "Twin");
  await workspace.person(id, "Twin");
  await workspace.bot(id, "Build Bot", [general]);
  await workspace.channel(owner, "deploys");
  const { database } = workspace;
  const vault = new Vault(findKey(folder.path, ""));
  const log = { warn: () => {} };
  const parts = { database, vault, guard: { blockPrivate: false }, log, maxSubscriptions: 1_000 };
  for (const name of ["CI", "Echo", "Echo"]) {
    const input = { name, url: "http://192.0.2.1/", events: ["message.created"] };
    await createSubscription(parts, id, input, actor);
  }
  changes = await changesSoFar(workspace);
});
afterAll(() => folder[Symbol.dispose]());

async function changesSoFar({ database }: Workspace): Promise<number> {
  const [team] = await database.ask(listTeams);
  return (await database.ask((db) => listAuditEntries(db, team?.id ?? "", { limit: 1000 }))).length;
}

describe.concurrent("wrong usage exits with 2", () => {
  test.each([
    [[], "command is missing"],
    [["teams"], "command is missing"],
    [["team"], "Did you mean teams?"],
    [["xyzzy"], "See --help"],
    [["teams", "lst"], "Did you mean list?"],
    [["teams", "list", "extra"], "Too many arguments"],
    [["teams", "list", "--bogus"], "--bogus"],
    [["teams", "create"], "--name NAME is missing"],
    [["teams", "create", "--name"], "--name"],
    [["teams", "rename"], "TEAM is missing"],
    [["users", "create"], "--name NAME is missing"],
    [["users", "create", "--name", "X", "--role", "boss"], "owner, admin, member"],
    [["users", "set-role"], "USER is missing"],
    [["users", "set-role", "Grace Hopper"], "ROLE is missing"],
    [["users", "set-role", "Grace Hopper", "boss"], "owner, admin, member"],
    [["users", "deactivate"], "USER is missing"],
    [["users", "reactivate"], "USER is missing"],
    [["bots", "create"], "--name NAME is missing"],
    [["bots", "delete"], "BOT is missing"],
    [["channels", "show"], "CHANNEL is missing"],
    [["channels", "create", "--name", "x", "--visibility", "public"], "--as USER is missing"],
    [["channels", "create", "--name", "x", "--as", "twin"], "--visibility"],
    [["channels", "create", "--name", "x", "--visibility", "secret"], "public, private"],
    [["channels", "direct", "Grace Hopper"], "USER is missing"],
    [["channels", "add-member", "general"], "USER is missing"],
    [["channels", "members"], "CHANNEL is missing"],
    [["tokens", "create", "--all-scopes"], "--bot BOT or --user USER is missing"],
    [["tokens", "create", "--bot", "Build Bot"], "--scope SCOPE or --all-scopes is missing"],
    [["tokens", "create", "--bot", "a", "--user", "b", "--all-scopes"], "cannot be used with"],
    [["tokens", "create", "--bot", "a", "--scope", "messages:read", "--all-scopes"], "cannot be used with"],
    [["tokens", "create", "--bot", "Build Bot", "--scope", "everything"], "messages:read"],
    [["tokens", "create", "--bot", "Build Bot", "--all-scopes", "--expires", "soon"], "number and a unit"],
    [["tokens", "revoke"], "ID is missing"],
    [["incoming-webhooks", "create", "--channel", "general"], "--bot BOT is missing"],
    [["incoming-webhooks", "create", "--bot", "Build Bot"], "--channel CHANNEL is missing"],
    [["incoming-webhooks", "revoke"], "ID is missing"],
    [["incoming-webhooks", "rotate-secret"], "ID is missing"],
    [["webhooks", "create"], "--name NAME is missing"],
    [["webhooks", "create", "--name", "x"], "--url URL or --pull is missing"],
    [["webhooks", "create", "--name", "x", "--url", "http://192.0.2.1/"], "--event EVENT is missing"],
    [["webhooks", "create", "--event", "everything"], "message.created"],
    [["webhooks", "show"], "WEBHOOK is missing"],
    [["webhooks", "rotate-secret", "CI", "--overlap", "soon"], "number and a unit"],
    [["deliveries", "show"], "ID is missing"],
    [["deliveries", "replay"], "ID is missing"],
    [["deliveries", "list", "--limit", "none"], "whole number from 1"],
    [["deliveries", "list", "--follow"], "leave --json out"],
    [["listen", "--status", "99"], "whole number from 200 to 599"],
    [["emoji", "add"], "NAME is missing"],
    [["emoji", "remove"], "NAME is missing"],
    [["audit", "list", "--limit", "0"], "whole number from 1"],
    [["audit", "list", "--since", "yesterday"], "number and a unit"],
    [["serve", "--port", "http"], "whole number from 0 to 65535"],
    [["serve", "--host", ""], "address"],
    [["serve", "--port", "65536"], "whole number from 0 to 65535"],
  ])("parley %p", async (args, why) => {
    const { status, message, ...rest } = await runRefused(folder.path, args);
    expect({ status, rest }).toEqual({ status: 2, rest: {} });
    expect(message).toContain(why);
  });
});

describe.concurrent("a destructive verb without a terminal needs --yes", () => {
  test.each([
    [["users", "deactivate", "Grace Hopper"]],
    [["bots", "delete", "Build Bot"]],
    [["channels", "archive", "deploys"]],
    [["channels", "remove-member", "deploys", "Acme owner"]],
    [["webhooks", "delete", "CI"]],
    [["webhooks", "disable", "CI"]],
    [["webhooks", "rotate-secret", "CI"]],
    [["webhooks", "enable", "CI", "--discard-pending"]],
  ])("parley %p", async (args) => {
    const { status, message } = await runRefused(folder.path, args);
    expect(status).toBe(2);
    expect(message).toContain("--yes");
  });
});

describe.concurrent("a thing that does not exist exits with 3", () => {
  test.each([
    // On PostgreSQL the workspace is in the database of the environment.
    ...(engine === "sqlite"
      ? [[["teams", "list", "--data-dir", "/nonexistent"], "no workspace"] as const]
      : []),
    [["users", "list", "--team", "nobody"], 'no team "nobody"'],
    [["teams", "rename", "nobody", "--name", "x"], 'no team "nobody"'],
    [["users", "deactivate", "Nobody", "--yes"], 'no person "Nobody"'],
    [["bots", "delete", "Nobody", "--yes"], 'no bot "Nobody"'],
    [["bots", "delete", "Grace Hopper", "--yes"], 'no bot "Grace Hopper"'],
    [["bots", "create", "--name", "x", "--channel", "nowhere"], 'no channel "nowhere"'],
    [["channels", "show", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"], "no channel"],
    [["channels", "remove-member", "deploys", "Build Bot", "--yes"], "no such member"],
    [["tokens", "create", "--bot", "Grace Hopper", "--all-scopes"], 'no bot "Grace Hopper"'],
    [["tokens", "create", "--user", "Build Bot", "--all-scopes"], 'no person "Build Bot"'],
    [["tokens", "revoke", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f", "--yes"], "There is no token"],
    [["incoming-webhooks", "create", "--bot", "Nobody", "--channel", "general"], 'no bot "Nobody"'],
    [["incoming-webhooks", "create", "--bot", "Build Bot", "--channel", "nowhere"], 'no channel "nowhere"'],
    [["incoming-webhooks", "revoke", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"], "There is no incoming webhook"],
    [["incoming-webhooks", "rotate-secret", "CI"], "There is no incoming webhook"],
    [["webhooks", "show", "Nobody"], 'no subscription "Nobody"'],
    [["webhooks", "delete", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"], "no subscription"],
    [["webhooks", "disable", "Nobody"], "no subscription"],
    [["webhooks", "enable", "Nobody"], "no subscription"],
    [["webhooks", "rotate-secret", "Nobody"], "no subscription"],
    [["webhooks", "ping", "Nobody"], "no subscription"],
    [["deliveries", "list", "--webhook", "Nobody"], 'no subscription "Nobody"'],
    [["deliveries", "show", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"], "There is no attempt"],
    [["deliveries", "replay", "latest"], "There is no attempt"],
    [["emoji", "remove", "nothing", "--yes"], ":nothing:"],
  ])("parley %p", async (args, why) => {
    const { status, message } = await runRefused(folder.path, args);
    expect(status).toBe(3);
    expect(message).toContain(why);
  });
});

describe.concurrent("a refused change exits with 1", () => {
  test.each([
    [["teams", "create", "--name", "ACME"], "slug acme"],
    [["users", "create", "--name", ""], "name"],
    [["users", "create", "--name", "X", "--email", "nowhere"], "e-mail"],
    [["users", "deactivate", "Acme owner", "--yes"], "last owner"],
    [["users", "set-role", "Acme owner", "member"], "last owner"],
    [
      ["channels", "create", "--name", "Deploys", "--visibility", "public", "--as", "Acme owner"],
      "slug deploys",
    ],
    [["channels", "archive", "general", "--yes"], "general channel"],
    [["channels", "add-member", "deploys", "Acme owner"], "member of deploys already"],
    [["channels", "direct", "Grace Hopper", "grace-hopper"], "two different users"],
    [["incoming-webhooks", "create", "--bot", "Build Bot", "--channel", "deploys"], "channels add-member"],
    [["incoming-webhooks", "create", "--bot", "Build Bot", "--channel", "general", "--name", ""], "name"],
    [
      ["webhooks", "create", "--name", "x", "--url", "http://127.0.0.1/", "--event", "message.created"],
      "publicly reachable",
    ],
    [["webhooks", "show", "Echo"], "name one by id"],
    [["webhooks", "ping", "CI"], "not publicly reachable"],
    [["emoji", "add", "no spaces"], "a-z"],
    [["emoji", "add", "picture", "--image", "/nonexistent.png"], "/nonexistent.png"],
    [["openapi", "--out", "/nonexistent/openapi.json"], "/nonexistent/openapi.json"],
  ])("parley %p", async (args, why) => {
    const { status, message } = await runRefused(folder.path, args);
    expect(status).toBe(1);
    expect(message).toContain(why);
  });

  test("an ambiguous name, which lists the ids to choose from", async () => {
    const { status, message } = await runRefused(folder.path, ["channels", "add-member", "deploys", "Twin"]);
    expect(status).toBe(1);
    expect(message.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)).toHaveLength(2);
  });

  test("a setting that does not parse, with its name, its value and what it takes", async () => {
    const { status, stderr } = await run(folder.path, ["serve"], { PARLEY_PORT: "http" });
    expect(status).toBe(1);
    expect(stderr).toBe('error: PARLEY_PORT is "http"; it takes a whole number from 0 to 65535.\n');
  });

  test("a setting that does not parse, but only by commands that use it", async () => {
    const broken = { PARLEY_PORT: "http", WEBHOOKS_TIMEOUT: "soon" };
    for (const noun of ["users", "channels", "teams", "audit"]) {
      expect(await run(folder.path, [noun, "list"], broken)).toMatchObject({ status: 0 });
    }
    // One that would print a token, or an address, does not find out afterwards that it cannot.
    const mint = ["tokens", "create", "--bot", "ci", "--scope", "messages:read"];
    expect((await run(folder.path, mint, broken)).stderr).toContain("PARLEY_PORT");
    const visibility = { WEBHOOKS_VISIBILITY: "channel" };
    const { status, stderr } = await run(folder.path, ["users", "list"], { ...broken, ...visibility });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'error: WEBHOOKS_VISIBILITY is "channel"; it takes one of workspace, creator.\n',
    });
  });
});

test("an error for people is only on standard error", async () => {
  const { stdout, stderr } = await run(folder.path, ["channels", "show", "nowhere"]);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: 'error: There is no channel "nowhere".\n' });
});

test("none of these errors has changed anything", async () => {
  await using workspace = await openWorkspace(folder.path);
  expect(changes).toBeGreaterThan(0);
  expect(await changesSoFar(workspace)).toBe(changes);
});
