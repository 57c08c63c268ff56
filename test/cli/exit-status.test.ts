import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { run, runRefused } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const folder = temporaryFolder();
beforeAll(async () => {
  await using workspace = openWorkspace(folder.path);
  const { id, owner } = await workspace.team("Acme");
  await workspace.person(id, "Grace Hopper");
  await workspace.person(id, "Twin");
  await workspace.person(id, "Twin");
  await workspace.bot(id, "Build Bot");
  await workspace.channel(owner, "deploys");
});
afterAll(() => folder[Symbol.dispose]());

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
  ])("parley %p", async (args) => {
    const before = await run(folder.path, ["audit", "list", "--json"]);
    const { status, message } = await runRefused(folder.path, args);
    expect(status).toBe(2);
    expect(message).toContain("--yes");
    expect(await run(folder.path, ["audit", "list", "--json"])).toEqual(before);
  });
});

describe.concurrent("no such thing exits with 3", () => {
  test.each([
    [["teams", "list", "--data-dir", "/nonexistent"], "no workspace"],
    [["users", "list", "--team", "nobody"], 'no team "nobody"'],
    [["teams", "rename", "nobody", "--name", "x"], 'no team "nobody"'],
    [["users", "deactivate", "Nobody", "--yes"], 'no user "Nobody"'],
    [["bots", "delete", "Nobody", "--yes"], 'no bot "Nobody"'],
    [["bots", "delete", "Grace Hopper", "--yes"], 'no bot "Grace Hopper"'],
    [["bots", "create", "--name", "x", "--channel", "nowhere"], 'no channel "nowhere"'],
    [["channels", "show", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f"], "no channel"],
    [["channels", "remove-member", "deploys", "Build Bot", "--yes"], "no such member"],
    [["tokens", "create", "--bot", "Grace Hopper", "--all-scopes"], 'no bot "Grace Hopper"'],
    [["tokens", "create", "--user", "Build Bot", "--all-scopes"], 'no person "Build Bot"'],
    [["tokens", "revoke", "0199e7a4-5c1b-7e2a-9d3f-6b8a1c2d4e5f", "--yes"], "no such token"],
    [["emoji", "remove", "nothing", "--yes"], ":nothing:"],
  ])("parley %p", async (args, why) => {
    const { status, message } = await runRefused(folder.path, args);
    expect(status).toBe(3);
    expect(message).toContain(why);
  });
});

describe.concurrent("what is refused exits with 1", () => {
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
});

test("a refusal for people is on standard error alone", async () => {
  const { stdout, stderr } = await run(folder.path, ["channels", "show", "nowhere"]);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: 'error: There is no channel "nowhere".\n' });
});
