import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listAuditEntries } from "../../src/audit/audit.ts";
import { type ListedChannel, setArchived } from "../../src/channels/channels.ts";
import { type ChannelRow, selectChannel } from "../../src/channels/store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { run, runJson } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { type Group, type Refusal, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let ann: User;
let ben: User;
let cy: User;

beforeAll(async () => {
  stage = await startScimStage({ environment: { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" } });
  ann = await stage.user("ann@example.com", { displayName: "Ann" });
  ben = await stage.user("ben@example.com", { displayName: "Ben" });
  cy = await stage.user("cy@example.com", { displayName: "Cy" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

async function channelOf({ id }: Group): Promise<ChannelRow> {
  const channel = await stage.workspace.database.ask((db) => selectChannel(db, stage.teamId, id));
  if (!channel) throw new Error(`there is no channel ${id}`);
  return channel;
}

async function membersOf({ id }: Group): Promise<string[]> {
  const { json } = await stage.scim.get<Group>(`/Groups/${id}`);
  return (json.members ?? []).map(({ display }) => display).toSorted((a, b) => (a < b ? -1 : 1));
}

/** The notices in the channel, the oldest first, as one who is in it reads them. */
async function noticesIn({ id }: Group, reader: User): Promise<string[]> {
  const client = await stage.as(await stage.workspaceUser(reader.id));
  const { json } = await client.get<{ data: Message[] }>(`/channels/${id}/messages`);
  return json.data.map(({ type, author }) => `${type} ${author.name}`).toReversed();
}

async function add(group: Group, ...users: User[]): Promise<number> {
  const value = users.map(({ id }) => ({ value: id }));
  return (await stage.scim.patch(`/Groups/${group.id}`, { op: "add", path: "members", value })).status;
}

async function remove(group: Group, ...users: User[]): Promise<number> {
  const value = users.map(({ id }) => ({ value: id }));
  return (await stage.scim.patch(`/Groups/${group.id}`, { op: "remove", path: "members", value })).status;
}

describe("a group", () => {
  test("is a private channel that only its members can read", async () => {
    const group = await stage.group("Readers", [ann]);
    const member = await stage.as(await stage.workspaceUser(ann.id));
    const { json } = await member.get<{ data: object }>(`/channels/${group.id}`);
    expect(json.data).toMatchObject({ name: "Readers", slug: "readers", visibility: "private" });
    const stranger = await stage.as(await stage.workspaceUser(ben.id));
    expect((await stranger.get(`/channels/${group.id}`)).status).toBe(404);
  });

  test("is shown as managed in the list of channels, and other channels are not", async () => {
    const group = await stage.group("Shown");
    const listed = await runJson<ListedChannel[]>(stage.server.dataDir, ["channels", "list"]);
    expect(listed.find(({ id }) => id === group.id)?.is_managed).toBe(true);
    expect(listed.find(({ name }) => name === "general")?.is_managed).toBe(false);
    const { stdout } = await run(stage.server.dataDir, ["channels", "list"]);
    expect(stdout).toMatch(/#Shown +private, managed by the directory/);
    expect(stdout).toMatch(/#general +public +/);
  });

  test("is never a channel that a person created", async () => {
    const channel = await stage.workspace.channel(stage.owner, "made-by-hand", "private");
    expect((await stage.scim.get(`/Groups/${channel.id}`)).status).toBe(404);
    expect((await stage.scim.del(`/Groups/${channel.id}`)).status).toBe(404);
    const filter = 'displayName eq "made-by-hand"';
    expect((await stage.scim.list("/Groups", { filter })).totalResults).toBe(0);
  });

  test("has a name that no other channel has", async () => {
    const group = await stage.group("Unique");
    for (const displayName of ["unique", "UNIQUE!", "general"]) {
      const { status, json } = await stage.scim.post("/Groups", { displayName });
      expect({ status, scimType: json.scimType }, displayName).toEqual({
        status: 409,
        scimType: "uniqueness",
      });
    }
    const rename = { op: "replace", path: "displayName", value: "General" };
    expect((await stage.scim.patch(`/Groups/${group.id}`, rename)).status).toBe(409);
    const own = { op: "replace", path: "displayName", value: "UNIQUE" };
    expect((await stage.scim.patch(`/Groups/${group.id}`, own)).status).toBe(204);
  });

  test.each([
    ["nothing", {}],
    ["blanks", { displayName: "  " }],
    ["signs without a letter", { displayName: "***" }],
    ["more than one line", { displayName: "a\nb" }],
    ["what is no text", { displayName: 7 }],
    ["somebody who is not there", { displayName: "x", members: [{ value: crypto.randomUUID() }] }],
    ["somebody whose id is none", { displayName: "x", members: [{ value: "ann" }] }],
    ["a group in it", { displayName: "x", members: [{ value: "self", type: "Group" }] }],
  ])("cannot be created from %s", async (_, body) => {
    const { status, json } = await stage.scim.post("/Groups", body);
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidValue" });
  });

  test("cannot be a member of a group, so there are no cycles", async () => {
    const group = await stage.group("Circle");
    const value = [{ value: group.id, type: "Group" }];
    const { status, json } = await stage.scim.patch(`/Groups/${group.id}`, {
      op: "add",
      path: "members",
      value,
    });
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidValue" });
  });
});

describe("a person whom the directory adds to a group or removes from it", () => {
  test("joins and leaves with a notice, like anybody", async () => {
    const group = await stage.group("Notices", [ann]);
    expect(await add(group, ben)).toBe(204);
    expect(await remove(group, ben)).toBe(204);
    expect(await noticesIn(group, ann)).toEqual([
      "member_joined Ann",
      "member_joined Ben",
      "member_left Ben",
    ]);
  });

  test("is an event for the subscriptions to new members", async () => {
    await using receiver = startReceiver();
    const owner = await stage.as(stage.owner);
    const subscription = { name: "joins", url: receiver.url, events: ["channel.member_added"] };
    expect((await owner.post("/webhooks", subscription)).status).toBe(201);
    const group = await stage.group("Events", [ann]);
    await add(group, ben);
    const bodies = (await receiver.received(2)).map(({ text }) => JSON.parse(text) as { data: object });
    expect(bodies.map(({ data }) => data)).toEqual([
      { channel_id: group.id, user: { id: ann.id, name: "Ann", type: "human" } },
      { channel_id: group.id, user: { id: ben.id, name: "Ben", type: "human" } },
    ]);
  });

  test("is in the audit log with the directory as the actor", async () => {
    const group = await stage.group("Audited", [ann]);
    await remove(group, ann);
    await stage.scim.patch(`/Groups/${group.id}`, { op: "replace", value: { displayName: "Audited later" } });
    await stage.scim.del(`/Groups/${group.id}`);
    const entries = await stage.workspace.database.ask((db) =>
      listAuditEntries(db, stage.teamId, { limit: 1_000 }),
    );
    const own = entries.filter(({ target }) => target === `channel:${group.id}`);
    expect(own.map((entry) => `${entry.actor} ${entry.action}`)).toEqual([
      "scim channel.archived",
      "scim channel.renamed",
      "scim channel.member_removed",
      "scim channel.member_added",
      "scim channel.created",
    ]);
  });

  test("is announced once: adding a member or removing a stranger again changes nothing", async () => {
    const group = await stage.group("Again", [ann]);
    const before = (await stage.scim.get<Group>(`/Groups/${group.id}`)).json;
    expect(await add(group, ann)).toBe(204);
    expect(await remove(group, ben)).toBe(204);
    expect((await stage.scim.get<Group>(`/Groups/${group.id}`)).json).toEqual(before);
    expect(await noticesIn(group, ann)).toEqual(["member_joined Ann"]);
  });

  test("stays a member while deactivated and is back when reactivated, also if added meanwhile", async () => {
    const off = { op: "replace", path: "active", value: false };
    const dan = await stage.user("dan@example.com", { displayName: "Dan", active: false });
    const group = await stage.group("Sleepers", [ann, ben]);
    await stage.scim.patch(`/Users/${ben.id}`, off);
    expect(await add(group, dan)).toBe(204);
    expect(await membersOf(group)).toEqual(["Ann", "Ben", "Dan"]);
    expect(await noticesIn(group, ann)).toEqual(["member_joined Ann", "member_joined Ben"]);
    for (const user of [ben, dan]) {
      await stage.scim.patch(`/Users/${user.id}`, { op: "replace", path: "active", value: true });
      const client = await stage.as(await stage.workspaceUser(user.id));
      expect((await client.get(`/channels/${group.id}`)).status).toBe(200);
    }
  });
});

describe("the members of a group", () => {
  test("are replaced as a whole by a PUT or a PATCH, and only the difference joins and leaves", async () => {
    const group = await stage.group("Replaced", [ann, ben]);
    const put = await stage.scim.put<Group>(`/Groups/${group.id}`, {
      displayName: "Replaced",
      members: [{ value: ann.id }, { value: cy.id }],
    });
    expect(put.json.members?.map(({ display }) => display).sort()).toEqual(["Ann", "Cy"]);
    const value = [{ value: ann.id }, { value: ben.id }];
    await stage.scim.patch(`/Groups/${group.id}`, { op: "replace", path: "members", value });
    expect(await noticesIn(group, ann)).toEqual([
      "member_joined Ann",
      "member_joined Ben",
      "member_left Ben",
      "member_joined Cy",
      "member_left Cy",
      "member_joined Ben",
    ]);
  });

  test("all leave when all are removed, and when a PUT leaves them out", async () => {
    const group = await stage.group("Emptied", [ann, ben]);
    await stage.scim.patch(`/Groups/${group.id}`, { op: "remove", path: "members" });
    expect(await membersOf(group)).toEqual([]);
    await add(group, ann);
    await stage.scim.put(`/Groups/${group.id}`, { displayName: "Emptied" });
    expect(await membersOf(group)).toEqual([]);
  });

  test("are the result of the operations of a request in their order", async () => {
    const group = await stage.group("Ordered", [ann]);
    const { status } = await stage.scim.patch(
      `/Groups/${group.id}`,
      { op: "add", path: "members", value: ben.id },
      { op: "remove", path: `members[value eq "${ann.id}" or value eq "${ben.id.toUpperCase()}"]` },
      { op: "add", value: { members: [{ value: cy.id }] } },
    );
    expect(status).toBe(204);
    expect(await membersOf(group)).toEqual(["Cy"]);
  });

  test("stay as they are when an operation fails: removing a stranger is an error", async () => {
    const group = await stage.group("Steadfast", [ann]);
    const { status, json } = await stage.scim.patch<Refusal>(
      `/Groups/${group.id}`,
      { op: "replace", path: "displayName", value: "Fickle" },
      { op: "add", path: "members", value: [{ value: cy.id }] },
      { op: "remove", path: `members[value eq "${ben.id}"]` },
    );
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "noTarget" });
    const { json: after } = await stage.scim.get<Group>(`/Groups/${group.id}`);
    expect(after).toEqual(group);
    expect(await noticesIn(group, ann)).toEqual(["member_joined Ann"]);
  });

  test("are people: a bot in the channel is neither shown nor removed", async () => {
    const group = await stage.group("With a bot", [ann]);
    const bot = await stage.workspace.bot(stage.teamId, "Helper", [await channelOf(group)]);
    expect(await membersOf(group)).toEqual(["Ann"]);
    await stage.scim.put(`/Groups/${group.id}`, { displayName: "With a bot", members: [] });
    expect(await membersOf(group)).toEqual([]);
    expect((await (await stage.as(bot)).get(`/channels/${group.id}`)).status).toBe(200);
    const value = [{ value: bot.id }];
    const refused = await stage.scim.patch(`/Groups/${group.id}`, { op: "add", path: "members", value });
    expect(refused.status).toBe(400);
    const out = { op: "remove", path: `members[value eq "${bot.id}"]` };
    expect((await stage.scim.patch(`/Groups/${group.id}`, out)).status).toBe(400);
  });

  test("are left out of the response on request", async () => {
    const group = await stage.group("Excluded", [ann]);
    for (const query of ["excludedAttributes=members", "attributes=displayName"]) {
      expect((await stage.scim.get<Group>(`/Groups/${group.id}?${query}`)).json).not.toHaveProperty(
        "members",
      );
    }
    const { json } = await stage.scim.get<Group>(`/Groups/${group.id}?attributes=members.value`);
    expect(json.members).toEqual([{ value: ann.id }] as Group["members"]);
  });
});

describe("a group that is deleted", () => {
  test("becomes an archived channel that its members can still read", async () => {
    const group = await stage.group("Deleted", [ann]);
    expect((await stage.scim.del(`/Groups/${group.id}`)).status).toBe(204);
    const client = await stage.as(await stage.workspaceUser(ann.id));
    const { json } = await client.get<{ data: { is_archived: boolean } }>(`/channels/${group.id}`);
    expect(json.data.is_archived).toBe(true);
    expect((await stage.scim.list("/Groups", { filter: 'displayName eq "Deleted"' })).totalResults).toBe(0);
    expect(await add(group, ben)).toBe(404);
  });

  test("frees its name for a new one, which is another channel with its own messages", async () => {
    const old = await stage.group("Phoenix", [ann]);
    await stage.scim.del(`/Groups/${old.id}`);
    const made = await stage.group("Phoenix", [ben]);
    expect(made.id).not.toBe(old.id);
    expect((await channelOf(made)).slug).toBe("phoenix");
    expect(await noticesIn(made, ben)).toEqual(["member_joined Ben"]);
  });

  test("is back when the command line unarchives its channel", async () => {
    const group = await stage.group("Undone", [ann]);
    await stage.scim.del(`/Groups/${group.id}`);
    const channel = await channelOf(group);
    await stage.workspace.database.write((tx) => setArchived(tx, channel, false, actor));
    expect(await membersOf(group)).toEqual(["Ann"]);
  });
});
