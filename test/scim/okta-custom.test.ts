import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { selectUser } from "../../src/users/store.ts";
import { apiClient } from "../support/client.ts";
import { type Group, groupSchema, type User, userSchema } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/**
 * What Okta sends from an app of the App Integration Wizard, in its order: a look-up before everything it makes, and a
 * PUT of the whole resource for every change.
 */
let stage: ScimStage;
let user: User;
let group: Group;
let token: string;

beforeAll(async () => {
  stage = await startScimStage({ contentType: "application/scim+json; charset=utf-8" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

/** The profile as Okta holds it; `active` is in every PUT. */
function profile(changes: object = {}): object {
  return {
    schemas: [userSchema],
    userName: "test.user@okta.local",
    name: { givenName: "Test", familyName: "User" },
    emails: [{ primary: true, value: "test.user@okta.local", type: "work" }],
    displayName: "Test User",
    locale: "en-US",
    externalId: "00ujl29u0le5T6Aj10h7",
    groups: [],
    active: true,
    ...changes,
  };
}

async function lookUp(userName: string): Promise<User[]> {
  const parameters = { filter: `userName eq "${userName}"`, startIndex: 1, count: 100 };
  return (await stage.scim.list("/Users", parameters)).Resources;
}

describe("Okta's custom app", () => {
  test("tests the connection and gets people whom it can parse", async () => {
    const { Resources, totalResults, startIndex } = await stage.scim.list("/Users", {
      startIndex: 1,
      count: 1,
    });
    expect({ totalResults, startIndex }).toEqual({ totalResults: 1, startIndex: 1 });
    const [first] = Resources;
    for (const text of [
      first?.id,
      first?.userName,
      first?.name?.givenName,
      first?.name?.familyName,
      first?.emails[0]?.value,
    ]) {
      expect(text).toMatch(/\S/);
    }
  });

  test("gets empty lists without an error", async () => {
    expect(await lookUp("test.user@okta.local")).toEqual([]);
    expect((await stage.scim.get("/Users/010101001010101011001010101011")).status).toBe(404);
  });

  test("adds a person and gets the whole resource, with its location", async () => {
    const { status, headers, json } = await stage.scim.post<User>(
      "/Users",
      profile({ password: "1mz050nq" }),
    );
    user = json;
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`${stage.server.url}/scim/v2/Users/${user.id}`);
    expect(user).toMatchObject({
      userName: "test.user@okta.local",
      externalId: "00ujl29u0le5T6Aj10h7",
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: "test.user@okta.local", type: "work" }],
      displayName: "Test User",
      active: true,
    });
    expect(JSON.stringify(user)).not.toContain("1mz050nq");
    expect((await stage.scim.get<User>(`/Users/${user.id}`)).json).toEqual(user);
    expect(await lookUp("TEST.user@okta.local")).toEqual([user]);
  });

  test("gets 409 for the same person again", async () => {
    const { status, json } = await stage.scim.post("/Users", profile({ userName: "Test.User@Okta.Local" }));
    expect({ status, scimType: json.scimType }).toEqual({ status: 409, scimType: "uniqueness" });
  });

  test("changes a name by replacing everything", async () => {
    const body = profile({
      id: user.id,
      displayName: "Another User",
      name: { givenName: "Another", familyName: "User" },
    });
    const { status, json } = await stage.scim.put<User>(`/Users/${user.id}`, body);
    expect(status).toBe(200);
    expect(json).toMatchObject({ id: user.id, displayName: "Another User", name: { givenName: "Another" } });
    expect((await stage.scim.get<User>(`/Users/${user.id}`)).json).toEqual(json);
    const row = await stage.workspace.database.ask((db) => selectUser(db, stage.teamId, user.id));
    expect(row?.name).toBe("Another User");
  });

  test("pushes a group with its members, and replaces name and members", async () => {
    const filter = 'displayName eq "Test SCIMv2"';
    const none = await stage.scim.list<Group>("/Groups", { filter, startIndex: 1, count: 100 });
    expect(none.totalResults).toBe(0);
    const made = await stage.scim.post<Group>("/Groups", {
      schemas: [groupSchema],
      displayName: "Test SCIMv2",
      members: [{ value: user.id, display: user.userName }],
    });
    group = made.json;
    expect(made.status).toBe(201);
    expect(group.members?.map(({ value }) => value)).toEqual([user.id]);

    const put = await stage.scim.put<Group>(`/Groups/${group.id}`, {
      schemas: [groupSchema],
      id: group.id,
      displayName: "Test SCIMv2 renamed",
      members: [],
    });
    expect(put.status).toBe(200);
    expect(put.json).toMatchObject({ id: group.id, displayName: "Test SCIMv2 renamed", members: [] });
  });

  test("deactivates a person, whose tokens stop working immediately", async () => {
    const row = await stage.workspace.database.ask((db) => selectUser(db, stage.teamId, user.id));
    if (!row) throw new Error("the person is gone");
    token = (await stage.workspace.token(row)).token;
    const client = apiClient(stage.server.url, token);
    expect((await client.get("/channels")).status).toBe(200);

    const { status, json } = await stage.scim.put<User>(`/Users/${user.id}`, profile({ active: false }));
    expect({ status, active: json.active }).toEqual({ status: 200, active: false });
    expect((await client.get("/channels")).status).toBe(401);
    const [found] = await lookUp("test.user@okta.local");
    expect(found).toMatchObject({ id: user.id, active: false });
  });

  test("restores the person on the next assignment, without the old tokens", async () => {
    const [found] = await lookUp("test.user@okta.local");
    const { status, json } = await stage.scim.put<User>(`/Users/${found?.id}`, profile({ active: true }));
    expect({ status, id: json.id, active: json.active }).toEqual({ status: 200, id: user.id, active: true });
    expect((await apiClient(stage.server.url, token).get("/channels")).status).toBe(401);
  });

  test("deletes a group", async () => {
    expect((await stage.scim.del(`/Groups/${group.id}`)).status).toBe(204);
    expect((await stage.scim.get(`/Groups/${group.id}`)).status).toBe(404);
  });
});
