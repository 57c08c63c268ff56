import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, groupSchema, type List, type User, userSchema } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/**
 * What authentik sends: it reads what the server supports, adds everybody, takes a 409 for a reason to look up, replaces
 * people as a whole, and patches groups with an operation for each member.
 */
let stage: ScimStage;
let user: User;
let group: Group;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

function account(userName: string, name: string, active = true): object {
  return {
    schemas: [userSchema],
    externalId: `uid-${userName}`,
    userName,
    name: { formatted: `${name} `, givenName: name, familyName: " " },
    displayName: name,
    photos: [],
    locale: "en-US",
    active,
    emails: [{ value: `${userName}@authentik.company`, type: "other", primary: true }],
  };
}

async function membersOf({ id }: Group): Promise<string[]> {
  const { json } = await stage.scim.get<Group>(`/Groups/${id}`);
  return (json.members ?? []).map(({ value }) => value);
}

describe("authentik", () => {
  test("reads the supported features and the maximum number of operations in a PATCH", async () => {
    const { status, json } =
      await stage.scim.get<Record<string, { supported: boolean; maxOperations: number }>>(
        "/ServiceProviderConfig",
      );
    expect(status).toBe(200);
    expect(json.patch).toEqual({ supported: true } as typeof json.patch);
    expect(json.bulk).toMatchObject({ supported: false, maxOperations: 1_000 });
    expect(json.filter?.supported).toBe(true);
  });

  test("adds a person whose last name is a space", async () => {
    const { status, json } = await stage.scim.post<User>(
      "/Users",
      account("akadmin", "authentik Default Admin"),
    );
    user = json;
    expect(status).toBe(201);
    expect(user).toMatchObject({
      userName: "akadmin",
      displayName: "authentik Default Admin",
      name: { formatted: "authentik Default Admin ", familyName: " " },
      emails: [{ value: "akadmin@authentik.company", type: "other", primary: true }],
    });
  });

  test.each(['userName eq "grace"', "userName eq grace"])(
    "gets 409 for a person who exists, and finds them by %s",
    async (filter) => {
      const grace = (await stage.scim.list("/Users", { filter: 'userName eq "grace"' })).Resources[0];
      const { id } = grace ?? (await stage.person("grace"));
      const refused = await stage.scim.post("/Users", account("grace", "Grace Hopper"));
      expect({ status: refused.status, scimType: refused.json.scimType }).toEqual({
        status: 409,
        scimType: "uniqueness",
      });
      const { Resources } = await stage.scim.list("/Users", { filter });
      expect(Resources.map((each) => each.id)).toEqual([id]);
      const { status, json } = await stage.scim.put<User>(`/Users/${id}`, account("grace", "Grace Hopper"));
      expect(status).toBe(200);
      expect(json).toMatchObject({ id, externalId: "uid-grace", displayName: "Grace Hopper" });
    },
  );

  test("adds a group without members, and then one operation for each of them", async () => {
    const made = await stage.scim.post<Group>("/Groups", {
      schemas: [groupSchema],
      externalId: "5fd7f4f4-2b5b-4e3c-8a3c-a8a0b1e4f8a0",
      displayName: "authentik Admins",
    });
    group = made.json;
    expect(made.status).toBe(201);
    const people = await Promise.all(["one", "two", "three"].map((name) => stage.user(name)));
    const operations = [user, ...people].map(({ id }) => ({
      op: "add",
      path: "members",
      value: [{ value: id }],
    }));
    expect((await stage.scim.patch(`/Groups/${group.id}`, ...operations)).status).toBe(204);
    expect(await membersOf(group)).toHaveLength(4);

    const removals = people.map(({ id }) => ({ op: "remove", path: "members", value: [{ value: id }] }));
    await stage.scim.patch(`/Groups/${group.id}`, ...removals);
    expect(await membersOf(group)).toEqual([user.id]);
  });

  test("replaces a group without a path, and keeps its members", async () => {
    const { status } = await stage.scim.patch(`/Groups/${group.id}`, {
      op: "replace",
      path: null,
      value: {
        schemas: [groupSchema],
        id: group.id,
        externalId: "5fd7f4f4-2b5b-4e3c-8a3c-a8a0b1e4f8a0",
        displayName: "Admins",
      },
    });
    expect(status).toBe(204);
    const { json } = await stage.scim.get<Group>(`/Groups/${group.id}`);
    expect(json).toMatchObject({ displayName: "Admins", members: [{ value: user.id }] });
  });

  test("reads the groups page by page up to their total", async () => {
    for (let count = 0; count < 4; count++) await stage.group(`Team ${count}`);
    const seen = new Set<string>();
    let total = Number.POSITIVE_INFINITY;
    for (let startIndex = 1; seen.size < total;) {
      const { json } = await stage.scim.get<List<Group>>(`/Groups?startIndex=${startIndex}&count=2`);
      total = json.totalResults;
      expect(json.Resources.length).toBeGreaterThan(0);
      for (const { id } of json.Resources) seen.add(id);
      startIndex += json.itemsPerPage;
    }
    expect(seen.size).toBe(5);
  });

  test("deactivates a person by a PUT, and deletes them", async () => {
    const asUser = await stage.as(await stage.workspaceUser(user.id));
    const body = account("akadmin", "authentik Default Admin", false);
    const { json } = await stage.scim.put<User>(`/Users/${user.id}`, body);
    expect(json.active).toBe(false);
    expect((await asUser.get("/channels")).status).toBe(401);
    expect((await stage.scim.del(`/Users/${user.id}`)).status).toBe(204);
    expect((await stage.scim.get(`/Users/${user.id}`)).status).toBe(404);
    expect((await stage.scim.del(`/Groups/${group.id}`)).status).toBe(204);
  });
});
