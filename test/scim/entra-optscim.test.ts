import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, groupSchema, type User, userSchema } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/**
 * What Microsoft Entra ID sends when its address of Parley carries the flag `aadOptscim062020`: the flag itself in every
 * request, true booleans, filters for the members to remove, and operations without a path whose keys hold dots.
 */
let stage: ScimStage;
let user: User;
let other: User;
let group: Group;

const flag = "aadOptscim062020";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

beforeAll(async () => {
  stage = await startScimStage({ contentType: "application/scim+json; charset=utf-8" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

async function add(userName: string): Promise<User> {
  const { status, json } = await stage.scim.post<User>(`/Users?${flag}`, {
    schemas: [userSchema, enterprise],
    externalId: userName,
    userName,
    active: true,
    emails: [{ primary: true, type: "work", value: userName }],
    meta: { resourceType: "User" },
    name: { formatted: "Given Family", familyName: "Family", givenName: "Given" },
    roles: [],
  });
  expect(status).toBe(201);
  return json;
}

async function membersOf({ id }: Group): Promise<string[]> {
  const { json } = await stage.scim.get<Group>(`/Groups/${id}?${flag}`);
  return (json.members ?? []).map(({ value }) => value);
}

describe("Entra ID with aadOptscim062020", () => {
  test("tests the connection", async () => {
    const filter = encodeURIComponent('userName eq "d1f5a2d6-77f1-4a3b-b7ad-c5ce7ec6fd39"');
    const { status, json } = await stage.scim.get<{ totalResults: number }>(
      `/Users?${flag}&filter=${filter}`,
    );
    expect({ status, totalResults: json.totalResults }).toEqual({ status: 200, totalResults: 0 });
  });

  test("adds people and finds one with the flag in the URL", async () => {
    user = await add("given@contoso.com");
    other = await add("other@contoso.com");
    const filter = encodeURIComponent('userName eq "given@contoso.com"');
    for (const query of [
      `${flag}&filter=${filter}`,
      `filter=${filter}&${flag}`,
      `${flag}=&filter=${filter}`,
    ]) {
      const { json } = await stage.scim.get<{ Resources: User[] }>(`/Users?${query}`);
      expect(json.Resources, query).toEqual([user]);
    }
  });

  test("changes several attributes in one value with dotted and foreign keys", async () => {
    const { status, json } = await stage.scim.patch<User>(
      `/Users/${user.id}?${flag}`,
      {
        op: "replace",
        value: {
          displayName: "Kim Doe",
          "name.givenName": "Kim",
          "name.familyName": "Doe",
          [`${enterprise}:employeeNumber`]: "7",
          [`${userSchema}:userName`]: "kim@contoso.com",
        },
      },
      { op: "replace", path: 'emails[type eq "work"].value', value: "kim@contoso.com" },
      { op: "add", value: { [`${enterprise}:department`]: "Sales" } },
    );
    expect(status).toBe(200);
    expect(json).toMatchObject({
      userName: "kim@contoso.com",
      displayName: "Kim Doe",
      name: { givenName: "Kim", familyName: "Doe" },
      emails: [{ value: "kim@contoso.com", type: "work", primary: true }],
    });
  });

  test("makes an admin by a role", async () => {
    const roles = [{ primary: true, type: "WindowsAzureActiveDirectoryRole", value: "admin" }];
    const made = await stage.scim.patch<User>(`/Users/${user.id}?${flag}`, {
      op: "add",
      path: "roles",
      value: roles,
    });
    expect(made.json.roles).toEqual([{ value: "admin", primary: true }]);
    const unmade = await stage.scim.patch<User>(`/Users/${user.id}?${flag}`, {
      op: "remove",
      path: 'roles[value eq "admin"]',
    });
    expect(unmade.json.roles).toEqual([{ value: "member", primary: true }]);
  });

  test("manages a group and its members by filters", async () => {
    group = (
      await stage.scim.post<Group>(`/Groups?${flag}`, {
        schemas: [groupSchema],
        externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        displayName: "Engineers",
      })
    ).json;
    const path = `/Groups/${group.id}?${flag}`;
    const value = [{ value: user.id }, { value: other.id }];
    expect((await stage.scim.patch(path, { op: "add", path: "members", value })).status).toBe(204);
    expect((await membersOf(group)).sort()).toEqual([user.id, other.id].sort());

    const removal = { op: "remove", path: `members[value eq "${user.id}"]` };
    expect((await stage.scim.patch(path, removal)).status).toBe(204);
    expect(await membersOf(group)).toEqual([other.id]);

    const rename = { op: "replace", value: { displayName: "Engineers and friends" } };
    expect((await stage.scim.patch(path, rename)).status).toBe(204);
    const { json } = await stage.scim.get<Group>(path);
    expect(json).toMatchObject({ displayName: "Engineers and friends", members: [{ value: other.id }] });
  });

  test("disables a person, and deletes them", async () => {
    const asUser = await stage.as(await stage.workspaceUser(user.id));
    const path = `/Users/${user.id}?${flag}`;
    const { json } = await stage.scim.patch<User>(path, { op: "replace", path: "active", value: false });
    expect(json.active).toBe(false);
    expect((await asUser.get("/channels")).status).toBe(401);
    expect((await stage.scim.del(path)).status).toBe(204);
    expect((await stage.scim.get(path)).status).toBe(404);
  });
});
