import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { ListedChannel } from "../../src/channels/channels.ts";
import type { Channel } from "../../src/channels/schemas.ts";
import { authenticate, type Token } from "../../src/tokens/tokens.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import type { Person } from "../../src/users/users.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

type Team = { id: string; name: string; slug: string };
type User = { id: string; name: string; type: string };

const id = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown as string;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/) as unknown as string;

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

const json = <Data>(...args: string[]) => runJson<Data>(folder.path, ["--team", "acme", ...args]);
const refused = (...args: string[]) => runRefused(folder.path, ["--team", "acme", ...args]);
const people = (...args: string[]) => run(folder.path, ["--team", "acme", ...args]);

/** The newest entry of the audit log, as far as it says what happened. */
async function lastChange(): Promise<Pick<AuditEntry, "action" | "target">> {
  const [entry] = await json<AuditEntry[]>("audit", "list", "--limit", "1");
  if (!entry) throw new Error("the audit log is empty");
  return { action: entry.action, target: entry.target };
}

test("teams are created, renamed and listed", async () => {
  const made = await json<Team>("teams", "create", "--name", "Research");
  expect(made).toEqual({ id, name: "Research", slug: "research" });
  const renamed = await json<Team>("teams", "rename", "research", "--name", "Research and Development");
  expect(renamed).toEqual({
    id: made.id,
    name: "Research and Development",
    slug: "research-and-development",
  });
  expect(await json<Team[]>("teams", "list")).toEqual([{ id: acme.id, name: "Acme", slug: "acme" }, renamed]);
  expect(await runJson<Channel[]>(folder.path, ["channels", "list", "--team", made.id])).toMatchObject([
    { slug: "general" },
  ]);
});

test("with several teams, a command must name one", async () => {
  const { status, message } = await runRefused(folder.path, ["users", "list"]);
  expect(status).toBe(2);
  expect(message).toContain("--team acme or --team research-and-development");
});

test("people are created with a role, which can be changed", async () => {
  const made = await json<Person>(
    "users",
    "create",
    "--name",
    "Grace Hopper",
    "--email",
    "grace@example.com",
  );
  const grace = {
    id,
    name: "Grace Hopper",
    type: "human",
    role: "member",
    active: true,
    email: "grace@example.com",
  };
  expect(made).toEqual(grace as Person);
  expect(await json<Person>("users", "set-role", "grace-hopper", "admin")).toEqual({
    ...made,
    role: "admin",
  });
  expect(await lastChange()).toEqual({ action: "user.role_set", target: `user:${made.id}` });
  expect(await json<Person[]>("users", "list")).toContainEqual({ ...made, role: "admin" });
});

test("a person is deactivated with --yes and reactivated, by id", async () => {
  const sam = await workspace.person(acme.id, "Sam");
  const { token } = await workspace.token(sam);
  expect(await json<Person>("users", "deactivate", "Sam", "--yes")).toMatchObject({
    id: sam.id,
    active: false,
  });
  expect(await authenticate(workspace.database, token)).toBeUndefined();
  const refusal = await refused("tokens", "create", "--user", sam.id, "--all-scopes");
  expect(refusal).toMatchObject({ status: 1, message: "Sam is deactivated." });
  const create = ["channels", "create", "--name", "theirs", "--visibility", "public", "--as", sam.id];
  expect(await refused(...create)).toMatchObject({ status: 1, message: "Sam is deactivated." });
  expect(await json<Person>("users", "reactivate", sam.id)).toMatchObject({ id: sam.id, active: true });
  expect(await authenticate(workspace.database, token)).toBeUndefined();
});

test("of two people with the same name, a verb picks the one that it can change, and never a bot", async () => {
  const gone = await workspace.person(acme.id, "Radia");
  const bot = await workspace.bot(acme.id, "Radia");
  await json("users", "deactivate", "Radia", "--yes");
  const active = await workspace.person(acme.id, "Radia");
  expect(await json<Person>("users", "set-role", "Radia", "admin")).toMatchObject({ id: active.id });
  expect(await json<Person>("users", "reactivate", "Radia")).toMatchObject({ id: gone.id, active: true });
  expect(await lastChange()).toEqual({ action: "user.reactivated", target: `user:${gone.id}` });

  const ambiguous = await refused("users", "deactivate", "Radia", "--yes");
  expect(ambiguous.status).toBe(1);
  for (const { id } of [gone, active]) expect(ambiguous.message).toContain(id);
  for (const { id } of [gone, active]) await json("users", "deactivate", id, "--yes");
  expect((await refused("users", "reactivate", "Radia")).message).toContain(gone.id);
  expect(await json<User>("bots", "delete", "Radia", "--yes")).toMatchObject({ id: bot.id });
});

test("setting the role that the person already has changes nothing", async () => {
  const person = await workspace.person(acme.id, "Barbara", "admin");
  const before = await lastChange();
  expect(await json<Person>("users", "set-role", "Barbara", "admin")).toMatchObject({ id: person.id });
  expect(await lastChange()).toEqual(before);
});

test("a bot is created in the given channels, each once, and deleted", async () => {
  const channel = await workspace.channel(acme.owner, "Deploys", "private");
  const named = ["--channel", "general", "#deploys", "--channel", channel.id];
  const bot = await json<User>("bots", "create", "--name", "Build Bot", ...named);
  expect(bot).toEqual({ id, name: "Build Bot", type: "bot" });
  expect(await json<User[]>("channels", "members", "deploys")).toContainEqual(bot);
  expect(await json<User[]>("channels", "members", "general")).toContainEqual(bot);
  expect(await json<User[]>("bots", "list")).toEqual([bot]);
  expect(await json<User>("bots", "delete", "build-bot", "--yes")).toEqual(bot);
  expect(await json<User[]>("bots", "list")).toEqual([]);
  expect(await json<User[]>("channels", "members", "deploys")).not.toContainEqual(bot);
});

test("a bot is not created if one of its channels does not exist", async () => {
  const { status } = await refused("bots", "create", "--name", "Halfway", "--channel", "general", "nowhere");
  expect(status).toBe(3);
  expect(await json<User[]>("bots", "list")).toEqual([]);
});

test("a channel is created on behalf of a user, shown by slug, archived and unarchived", async () => {
  const create = ["channels", "create", "--name", "#On Call", "--visibility", "private", "--topic", "Who?"];
  const made = await json<Channel>(...create, "--as", acme.owner.name);
  expect(made).toEqual({
    id,
    name: "On Call",
    slug: "on-call",
    visibility: "private",
    topic: "Who?",
    is_general: false,
    is_archived: false,
    is_direct: false,
    created_at: time,
  });
  for (const reference of [made.id, made.id.toUpperCase(), "on-call", "#on-call", "On Call"]) {
    expect(await json<ListedChannel>("channels", "show", reference)).toEqual({ ...made, is_managed: false });
  }
  const archived = { ...made, is_archived: true };
  expect(await json<Channel>("channels", "archive", "on-call", "--yes")).toEqual(archived);
  expect(await json<ListedChannel[]>("channels", "list")).toContainEqual({ ...archived, is_managed: false });
  expect(await json<Channel>("channels", "unarchive", "on-call")).toEqual(made);
});

test("members are added to public channels too, and removed", async () => {
  const person = await workspace.person(acme.id, "Max");
  const channel = await workspace.channel(acme.owner, "lobby");
  expect(await json<Channel>("channels", "add-member", "lobby", "Max")).toMatchObject({ id: channel.id });
  expect(await lastChange()).toEqual({ action: "channel.member_added", target: `channel:${channel.id}` });
  expect(await json<User[]>("channels", "members", "lobby")).toEqual([
    { id: acme.owner.id, name: acme.owner.name, type: "human" },
    { id: person.id, name: "Max", type: "human" },
  ]);
  expect(await json<Channel>("channels", "remove-member", "lobby", "Max", "--yes")).toMatchObject({
    id: channel.id,
  });
  expect(await json<User[]>("channels", "members", "lobby")).toHaveLength(1);
});

test("two users have one conversation, in whichever order they are given", async () => {
  await workspace.person(acme.id, "Ana");
  await workspace.bot(acme.id, "Helper");
  const direct = await json<Channel>("channels", "direct", "Ana", "Helper");
  expect(direct).toMatchObject({ id, visibility: "private", is_direct: true });
  expect(await json<Channel>("channels", "direct", "Helper", "Ana")).toEqual(direct);
  expect(await json<ListedChannel[]>("channels", "list")).toContainEqual({ ...direct, is_managed: false });
});

test("a token is shown once, acts as its user until it expires, and is revoked by its id", async () => {
  const bot = await workspace.bot(acme.id, "Deployer");
  const create = ["tokens", "create", "--bot", "Deployer", "--scope", "messages:write", "channels:read"];
  const made = await json<Token & { token: string }>(...create, "--name", "deploys", "--expires", "90d");
  const { token, ...listed } = made;
  expect(listed).toEqual({
    id,
    name: "deploys",
    kind: "bot",
    user: { id: bot.id, name: "Deployer", type: "bot" },
    scopes: ["messages:write", "channels:read"],
    prefix: token.slice(0, 12),
    expires_at: time,
    last_used_at: null,
    created_at: time,
  });
  expect(Date.parse(made.expires_at ?? "") - Date.parse(made.created_at)).toBeWithin(
    90 * 86_400_000 - 60_000,
    90 * 86_400_000 + 1,
  );
  expect((await authenticate(workspace.database, token))?.subject.id).toBe(bot.id);
  // The use is written after the answer.
  const used = await until("the list shows the use", async () =>
    (await json<Token[]>("tokens", "list")).find(
      (other) => other.id === made.id && other.last_used_at !== null,
    ),
  );
  expect(used).toEqual({ ...listed, last_used_at: time });

  expect(await json<Token>("tokens", "revoke", made.id, "--yes")).toMatchObject({
    id: made.id,
    name: "deploys",
  });
  expect(await authenticate(workspace.database, token)).toBeUndefined();
  expect((await json<Token[]>("tokens", "list")).map((other) => other.id)).not.toContain(made.id);
  expect(await lastChange()).toEqual({ action: "token.revoked", target: `token:${made.id}` });
});

test("a person's token with every scope, alone on standard output for a script", async () => {
  const { stdout, stderr } = await people(
    "tokens",
    "create",
    "--user",
    acme.owner.name,
    "--all-scopes",
    "--quiet",
  );
  expect(stdout).toMatch(/^ply_pat_[0-9A-Za-z]{46}\n$/);
  expect(stderr).toBe("");
  const grant = await authenticate(workspace.database, stdout.trim());
  expect([...(grant?.scopes ?? [])]).toEqual([...scopes]);
});

test("an emoji is added with or without its colons and an image, and removed", async () => {
  const image = join(folder.path, "party.gif");
  await Bun.write(image, "GIF89a and so on");
  const party = await json("emoji", "add", ":party:", "--image", image);
  expect(party).toEqual({ name: "party", created_at: time });
  expect(await json("emoji", "add", "ship-it")).toEqual({ name: "ship-it", created_at: time });
  expect(await refused("emoji", "add", "party")).toMatchObject({
    status: 1,
    errors: { name: [expect.any(String)] },
  });
  expect(await json<object[]>("emoji", "list")).toMatchObject([{ name: "party" }, { name: "ship-it" }]);
  expect(await json("emoji", "remove", ":party:", "--yes")).toEqual(party);
  expect(await json<object[]>("emoji", "list")).toMatchObject([{ name: "ship-it" }]);
});

test("a file that is no image or never ends is rejected as an image", async () => {
  const text = join(folder.path, "text.png");
  await Bun.write(text, "This is no picture.");
  expect(await refused("emoji", "add", "text", "--image", text)).toMatchObject({ status: 1 });
  expect(await refused("emoji", "add", "zero", "--image", "/dev/zero")).toMatchObject({ status: 1 });
});

test("the audit log is listed newest first, filtered by action, age and count, without any secret", async () => {
  const all = await json<AuditEntry[]>("audit", "list", "--limit", "1000");
  expect(all[0]).toEqual({
    id,
    at: time,
    actor: expect.stringMatching(/^cli:/),
    action: expect.stringMatching(/^[a-z]+\.[a-z_]+$/),
    target: expect.stringMatching(/^[a-z]+:/),
    details: expect.any(Object),
  });
  expect(all.map(({ at }) => at)).toEqual(
    all
      .map(({ at }) => at)
      .sort()
      .reverse(),
  );
  expect(all.at(-1)?.action).toBe("team.created");
  expect(JSON.stringify(all)).not.toMatch(/ply_(bot|pat|in)_|whsec_/);

  const created = await json<AuditEntry[]>("audit", "list", "--action", "user.created", "--since", "1h");
  expect(created.length).toBeGreaterThan(1);
  expect(new Set(created.map(({ action }) => action))).toEqual(new Set(["user.created"]));
  expect(await json<AuditEntry[]>("audit", "list", "--limit", "2")).toEqual(all.slice(0, 2));
});
