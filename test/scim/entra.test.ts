import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, groupSchema, type User, userSchema } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/**
 * What Microsoft Entra ID sends by default: capital letters in its operations, booleans as texts, and members to remove
 * in the value of the operation.
 */
let stage: ScimStage;
let user: User;
let other: User;
let group: Group;

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const microsoftGroup = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group";

beforeAll(async () => {
  stage = await startScimStage({ contentType: "application/scim+json; charset=utf-8" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

function newUser(userName: string, externalId: string): object {
  return {
    schemas: [userSchema, enterprise],
    externalId,
    userName,
    active: true,
    addresses: [{ type: "work", country: "DE", primary: false }],
    displayName: "Given Family",
    meta: { resourceType: "User" },
    name: { formatted: "Given Family", familyName: "Family", givenName: "Given" },
    preferredLanguage: "en-US",
    roles: [],
    title: "Engineer",
    [enterprise]: { department: "Research", employeeNumber: "42" },
  };
}

async function membersOf({ id }: Group): Promise<string[]> {
  const { json } = await stage.scim.get<Group>(`/Groups/${id}`);
  return (json.members ?? []).map(({ value }) => value);
}

describe("Entra ID", () => {
  test("tests the connection with an unknown name, and gets an empty list", async () => {
    const filter = 'userName eq "d1f5a2d6-77f1-4a3b-b7ad-c5ce7ec6fd39"';
    expect((await stage.scim.list("/Users", { filter })).totalResults).toBe(0);
  });

  test("adds people with all the attributes that it sends", async () => {
    const { status, json } = await stage.scim.post<User>("/Users", newUser("given@contoso.com", "given"));
    user = json;
    expect(status).toBe(201);
    expect(user).toMatchObject({
      externalId: "given",
      name: { formatted: "Given Family", familyName: "Family", givenName: "Given" },
      active: true,
    });
    other = (await stage.scim.post<User>("/Users", newUser("other@contoso.com", "other"))).json;
  });

  test.each(['userName eq "GIVEN@contoso.com"', 'externalId eq "given"'])(
    "finds a person by %s",
    async (filter) => {
      const { Resources } = await stage.scim.list("/Users", { filter });
      expect(Resources.map(({ id }) => id)).toEqual([user.id]);
    },
  );

  test("adds a person's first address, and then changes it", async () => {
    const path = 'emails[type eq "work"].value';
    const added = await stage.scim.patch<User>(`/Users/${user.id}`, {
      op: "Add",
      path,
      value: "a@contoso.com",
    });
    expect(added.status).toBe(200);
    expect(added.json.emails).toEqual([{ value: "a@contoso.com", type: "work", primary: false }]);
    const filter = 'emails[type eq "work"].value eq "A@contoso.com"';
    expect((await stage.scim.list("/Users", { filter })).Resources.map(({ id }) => id)).toEqual([user.id]);

    const changed = await stage.scim.patch<User>(
      `/Users/${user.id}`,
      { op: "Replace", path, value: "b@contoso.com" },
      { op: "Replace", path: "name.familyName", value: "Renamed" },
      { op: "Replace", path: "displayName", value: "Given Renamed" },
      { op: "Add", path: `${enterprise}:department`, value: "Sales" },
      { op: "Replace", path: `${enterprise}:manager`, value: [{ $ref: null, value: other.id }] },
      { op: "Add", path: "title", value: "Manager" },
    );
    expect(changed.json.emails).toEqual([{ value: "b@contoso.com", type: "work", primary: false }]);
    expect(changed.json).toMatchObject({ displayName: "Given Renamed", name: { familyName: "Renamed" } });
  });

  test("makes an admin by an app role, and takes the role away", async () => {
    const path = 'roles[primary eq "True"].value';
    const made = await stage.scim.patch<User>(`/Users/${user.id}`, { op: "Add", path, value: "Admin" });
    expect(made.json.roles).toEqual([{ value: "admin", primary: true }]);
    const unmade = await stage.scim.patch<User>(`/Users/${user.id}`, { op: "Replace", path, value: "User" });
    expect(unmade.json.roles).toEqual([{ value: "member", primary: true }]);
  });

  test("adds a group and finds it without its members", async () => {
    const { status, json } = await stage.scim.post<Group>("/Groups", {
      schemas: [groupSchema, microsoftGroup],
      externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
      displayName: "Engineers",
      meta: { resourceType: "Group" },
    });
    group = json;
    expect(status).toBe(201);
    const query = { excludedAttributes: "members", filter: 'displayName eq "engineers"' };
    const [found] = (await stage.scim.list<Group>("/Groups", query)).Resources;
    expect(found).toMatchObject({ id: group.id, externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159" });
    expect(found).not.toHaveProperty("members");
    const { json: read } = await stage.scim.get<Group>(`/Groups/${group.id}?excludedAttributes=members`);
    expect(read).not.toHaveProperty("members");
  });

  test("adds members and removes one of them, and only that one", async () => {
    const path = `/Groups/${group.id}`;
    const value = (...users: User[]) => users.map(({ id }) => ({ $ref: null, value: id }));
    const added = await stage.scim.patch(path, { op: "Add", path: "members", value: value(user, other) });
    expect(added.status).toBe(204);
    expect((await membersOf(group)).sort()).toEqual([user.id, other.id].sort());

    const filter = `id eq "${group.id}" and members eq "${user.id}"`;
    const query = { excludedAttributes: "members", filter };
    expect((await stage.scim.list<Group>("/Groups", query)).totalResults).toBe(1);

    const removed = await stage.scim.patch(path, { op: "Remove", path: "members", value: value(user) });
    expect(removed.status).toBe(204);
    expect(await membersOf(group)).toEqual([other.id]);
    expect((await stage.scim.list<Group>("/Groups", query)).totalResults).toBe(0);
  });

  test("renames a group", async () => {
    const rename = { op: "Replace", path: "displayName", value: "Engineers and friends" };
    expect((await stage.scim.patch(`/Groups/${group.id}`, rename)).status).toBe(204);
    expect((await stage.scim.get<Group>(`/Groups/${group.id}`)).json.displayName).toBe(
      "Engineers and friends",
    );
  });

  test('disables a person with the text "False", and still finds them', async () => {
    const asUser = await stage.as(await stage.workspaceUser(user.id));
    const { status, json } = await stage.scim.patch<User>(`/Users/${user.id}`, {
      op: "Replace",
      path: "active",
      value: "False",
    });
    expect({ status, active: json.active }).toEqual({ status: 200, active: false });
    expect((await asUser.get("/channels")).status).toBe(401);
    const [found] = (await stage.scim.list("/Users", { filter: 'userName eq "given@contoso.com"' }))
      .Resources;
    expect(found).toMatchObject({ id: user.id, active: false });
  });

  test("deletes people and groups, which it never sees again", async () => {
    for (const path of [`/Users/${user.id}`, `/Groups/${group.id}`]) {
      expect((await stage.scim.del(path)).status).toBe(204);
      expect((await stage.scim.get(path)).status).toBe(404);
      expect((await stage.scim.del(path)).status).toBe(404);
    }
    expect((await stage.scim.list("/Users", { filter: 'externalId eq "given"' })).totalResults).toBe(0);
  });
});
