import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listAuditEntries } from "../../src/audit/audit.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

async function find(userName: string): Promise<User[]> {
  return (await stage.scim.list("/Users", { filter: `userName eq ${JSON.stringify(userName)}` })).Resources;
}

async function read({ id }: { id: string }): Promise<User> {
  return (await stage.scim.get<User>(`/Users/${id}`)).json;
}

/** What the audit log says was done to the person, the latest first. */
async function auditOf({ id }: { id: string }): Promise<string[]> {
  const entries = await stage.workspace.database.ask((db) =>
    listAuditEntries(db, stage.teamId, { limit: 1_000 }),
  );
  return entries
    .filter(({ target }) => target === `user:${id}`)
    .map((entry) => `${entry.actor} ${entry.action}`);
}

describe("people who existed before the directory", () => {
  test("are found by their e-mail address, or by name without one", async () => {
    const grace = await stage.person("Grace Hopper", "grace@navy.example");
    const ana = await stage.person("Ana Núñez");
    expect((await find("GRACE@navy.example")).map(({ id }) => id)).toEqual([grace.id]);
    const [found] = await find("ana Núñez");
    expect(found).toMatchObject({ id: ana.id, displayName: "Ana Núñez" });
    expect(found?.name).toEqual({ givenName: "Ana", familyName: "Núñez" });
  });

  test("are told apart under one name: the second gets a userName that nobody would send", async () => {
    const first = await stage.person("Sam");
    const second = await stage.person("sam");
    expect((await find("SAM")).map(({ id }) => id)).toEqual([first.id]);
    const { userName, name } = await read(second);
    expect(userName).not.toBe("sam");
    expect(name).toEqual({ givenName: "sam", familyName: "sam" });
  });

  test("have a placeholder address, which is not stored when it is sent back", async () => {
    const { id } = await stage.person("Nobody Mailed");
    const shown = await read({ id });
    expect(shown.emails).toEqual([{ value: `${id}@parley.invalid`, type: "work", primary: true }]);
    await stage.scim.put(`/Users/${id}`, { ...shown, displayName: "Nobody" });
    expect((await stage.workspaceUser(id)).email).toBeNull();
  });

  test("keep their id, messages and channels when the directory takes them over", async () => {
    const before = await stage.person("Linus", "linus@example.com");
    await stage.workspace.join(stage.general, before);
    const body = { userName: "linus@example.com", externalId: "ext-linus", displayName: "Linus T" };
    expect((await stage.scim.post("/Users", body)).status).toBe(409);
    const { status, json } = await stage.scim.put<User>(`/Users/${before.id}`, body);
    expect({ status, id: json.id, externalId: json.externalId }).toEqual({
      status: 200,
      id: before.id,
      externalId: "ext-linus",
    });
    const client = await stage.as(await stage.workspaceUser(before.id));
    expect((await client.post(`/channels/${stage.general.id}/messages`, { body: "hello" })).status).toBe(201);
  });
});

describe("bots", () => {
  test("are invisible to the directory", async () => {
    const bot = await stage.workspace.bot(stage.teamId, "Build Bot");
    expect((await stage.scim.get(`/Users/${bot.id}`)).status).toBe(404);
    expect((await stage.scim.del(`/Users/${bot.id}`)).status).toBe(404);
    const off = { op: "replace", value: { active: false } };
    expect((await stage.scim.patch(`/Users/${bot.id}`, off)).status).toBe(404);
    expect((await stage.scim.list("/Users", { filter: `id eq "${bot.id}"` })).totalResults).toBe(0);
    expect((await stage.scim.list("/Users", { filter: 'displayName eq "Build Bot"' })).totalResults).toBe(0);
    expect((await (await stage.as(bot)).get("/channels")).status).toBe(200);
  });
});

describe("a userName", () => {
  test("belongs to one person, in any case", async () => {
    const ann = await stage.user("ann@example.com");
    const ben = await stage.user("ben@example.com");
    for (const refused of [
      await stage.scim.post("/Users", { userName: "ANN@EXAMPLE.COM" }),
      await stage.scim.put(`/Users/${ben.id}`, { userName: "Ann@example.com" }),
      await stage.scim.patch(`/Users/${ben.id}`, {
        op: "replace",
        path: "userName",
        value: "aNN@example.com",
      }),
    ]) {
      expect({ status: refused.status, scimType: refused.json.scimType }).toEqual({
        status: 409,
        scimType: "uniqueness",
      });
    }
    const own = await stage.scim.patch<User>(`/Users/${ann.id}`, {
      op: "replace",
      path: "userName",
      value: "Ann@Example.com",
    });
    expect(own.json.userName).toBe("Ann@Example.com");
  });

  test("goes to one of several simultaneous requests", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => stage.scim.post("/Users", { userName: "race@example.com" })),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    expect(await find("race@example.com")).toHaveLength(1);
  });
});

describe("the name shown to the team", () => {
  test.each([
    [
      "displayName",
      { displayName: "Dee", name: { formatted: "Fo", givenName: "Gi", familyName: "Fa" } },
      "Dee",
    ],
    ["the whole name", { name: { formatted: "Fo", givenName: "Gi", familyName: "Fa" } }, "Fo"],
    ["the parts of the name", { name: { givenName: "Gi", familyName: "Fa" } }, "Gi Fa"],
    ["one part of it", { displayName: "", name: { givenName: "Gi" } }, "Gi"],
    ["the userName", {}, "the userName"],
  ])("is %s, if present", async (userName, given, name) => {
    expect((await stage.user(userName, given)).displayName).toBe(name);
  });

  test("follows the parts of the name while there is no other name", async () => {
    const user = await stage.user("parts@example.com", { name: { givenName: "Old", familyName: "Name" } });
    const patched = await stage.scim.patch<User>(`/Users/${user.id}`, {
      op: "replace",
      path: "name.familyName",
      value: "New",
    });
    expect(patched.json.displayName).toBe("Old New");
  });
});

describe("a deactivated person", () => {
  test("loses all tokens immediately, and everything they wrote stays", async () => {
    const user = await stage.user("leaver@example.com");
    const row = await stage.workspaceUser(user.id);
    await stage.workspace.join(stage.general, row);
    const clients = [await stage.as(row), await stage.as(row)];
    const [client] = clients;
    const path = `/channels/${stage.general.id}/messages`;
    const posted = await client?.post<{ data: Message }>(path, { body: "I was here" });

    await stage.scim.patch(`/Users/${user.id}`, { op: "replace", path: "active", value: false });
    for (const each of clients) expect((await each.get("/channels")).status).toBe(401);
    const owner = await stage.as(stage.owner);
    const kept = await owner.get<{ data: Message }>(`${path}/${posted?.json.data.id}`);
    expect(kept.json.data).toMatchObject({ body: "I was here", author: { id: user.id } });
  });

  test("is restored as the same person when created again under the same userName", async () => {
    const user = await stage.user("again@example.com", { externalId: "ext-again" });
    await stage.scim.patch(`/Users/${user.id}`, { op: "replace", path: "active", value: false });
    const again = await stage.scim.post<User>("/Users", {
      userName: "Again@example.com",
      externalId: "ext-again",
      displayName: "Back",
    });
    expect(again.status).toBe(201);
    expect(again.json).toMatchObject({ id: user.id, active: true, displayName: "Back" });
    expect((await auditOf(user))[0]).toBe("scim user.reactivated");
  });

  test("is restored after being deleted, too", async () => {
    const user = await stage.user("deleted@example.com", { externalId: "ext-deleted" });
    expect((await stage.scim.del(`/Users/${user.id}`)).status).toBe(204);
    expect(await find("deleted@example.com")).toEqual([]);
    expect((await stage.scim.get(`/Users/${user.id}`)).status).toBe(404);
    const again = await stage.scim.post<User>("/Users", { userName: "deleted@example.com" });
    expect({ status: again.status, id: again.json.id, active: again.json.active }).toEqual({
      status: 201,
      id: user.id,
      active: true,
    });
    expect((await auditOf(user)).slice(-3)).toEqual([
      "scim user.removed",
      "scim user.deactivated",
      "scim user.created",
    ]);
  });

  test("is not restored for somebody else who has the userName later", async () => {
    const left = await stage.user("j.smith@example.com", { externalId: "jane" });
    await stage.scim.patch(`/Users/${left.id}`, { op: "replace", path: "active", value: false });
    const body = { userName: "j.smith@example.com", externalId: "john" };
    expect((await stage.scim.post("/Users", body)).status).toBe(409);
    await stage.scim.del(`/Users/${left.id}`);
    const { status, json } = await stage.scim.post<User>("/Users", body);
    expect(status).toBe(201);
    expect(json.id).not.toBe(left.id);
  });

  test("can be created deactivated", async () => {
    const user = await stage.user("never@example.com", { active: "False" });
    expect(user.active).toBe(false);
    expect((await stage.workspaceUser(user.id)).deactivatedAt).not.toBeNull();
  });
});

describe("a change", () => {
  test("is in the audit log, unless it changes nothing", async () => {
    const user = await stage.user("audited@example.com", { displayName: "Audited" });
    await stage.scim.put(`/Users/${user.id}`, { userName: "audited@example.com", displayName: "Renamed" });
    const { meta } = await read(user);
    await stage.scim.put(`/Users/${user.id}`, { userName: "audited@example.com", displayName: "Renamed" });
    await stage.scim.patch(`/Users/${user.id}`, { op: "replace", path: "active", value: true });
    expect((await read(user)).meta).toEqual(meta);
    await stage.scim.del(`/Users/${user.id}`);
    expect(await auditOf(user)).toEqual([
      "scim user.removed",
      "scim user.deactivated",
      "scim user.updated",
      "scim user.created",
    ]);
  });
});
