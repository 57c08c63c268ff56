import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, groupSchema, type User, userSchema } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/**
 * What Okta sends from an app of its catalogue: people are changed by PUT, switched on and off by a PATCH without a
 * path, and groups are patched, with their own id among what is to be replaced.
 */
let stage: ScimStage;
let ann: User;
let ben: User;
let group: Group;

beforeAll(async () => {
  stage = await startScimStage({ contentType: "application/scim+json; charset=utf-8" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

async function assign(login: string, givenName: string): Promise<User> {
  const filter = `userName eq "${login}"`;
  expect((await stage.scim.list("/Users", { filter, startIndex: 1, count: 100 })).Resources).toEqual([]);
  const { status, json } = await stage.scim.post<User>("/Users", {
    schemas: [userSchema],
    userName: login,
    name: { givenName, familyName: "Field" },
    emails: [{ primary: true, value: login, type: "work" }],
    displayName: `${givenName} Field`,
    locale: "en-US",
    externalId: `00u-${login}`,
    groups: [],
    password: "1mz050nq",
    active: true,
  });
  expect(status).toBe(201);
  return json;
}

async function membersOf({ id }: Group): Promise<string[]> {
  const { json } = await stage.scim.get<Group>(`/Groups/${id}`);
  return (json.members ?? []).map(({ value }) => value);
}

describe("Okta's catalogue app", () => {
  test("imports everybody, page by page, before its first use", async () => {
    const { totalResults } = await stage.scim.list("/Users", { startIndex: 1, count: 100 });
    expect(totalResults).toBe(1);
    const groups = await stage.scim.list<Group>("/Groups", { startIndex: 1, count: 100 });
    expect(groups.totalResults).toBe(0);
  });

  test("assigns people", async () => {
    ann = await assign("ann@okta.local", "Ann");
    ben = await assign("ben@okta.local", "Ben");
  });

  test("pushes a group, and renames it with its id in the value", async () => {
    const made = await stage.scim.post<Group>("/Groups", {
      schemas: [groupSchema],
      displayName: "Sales",
      members: [],
    });
    group = made.json;
    const { status } = await stage.scim.patch(`/Groups/${group.id}`, {
      op: "replace",
      value: { id: group.id, displayName: "Sales Europe" },
    });
    expect([200, 204]).toContain(status);
    const { json } = await stage.scim.get<Group>(`/Groups/${group.id}`);
    expect(json).toMatchObject({ id: group.id, displayName: "Sales Europe", members: [] });
  });

  test("adds members, removes one by a filter and adds another in one request, and replaces them all", async () => {
    const path = `/Groups/${group.id}`;
    await stage.scim.patch(path, {
      op: "add",
      path: "members",
      value: [{ value: ann.id, display: ann.userName }],
    });
    expect(await membersOf(group)).toEqual([ann.id]);

    await stage.scim.patch(
      path,
      { op: "remove", path: `members[value eq "${ann.id}"]` },
      { op: "add", path: "members", value: [{ value: ben.id, display: ben.userName }] },
    );
    expect(await membersOf(group)).toEqual([ben.id]);

    await stage.scim.patch(path, {
      op: "replace",
      path: "members",
      value: [{ value: ann.id, display: ann.userName }],
    });
    expect(await membersOf(group)).toEqual([ann.id]);
  });

  test("deactivates and reactivates a person by a patch without a path", async () => {
    const asAnn = await stage.as(await stage.workspaceUser(ann.id));
    expect((await asAnn.get("/channels")).status).toBe(200);

    const off = await stage.scim.patch<User>(`/Users/${ann.id}`, { op: "replace", value: { active: false } });
    expect(off.status).toBe(200);
    expect(off.json).toMatchObject({ id: ann.id, active: false, displayName: "Ann Field" });
    expect((await asAnn.get("/channels")).status).toBe(401);
    expect((await stage.scim.get<User>(`/Users/${ann.id}`)).json.active).toBe(false);

    const on = await stage.scim.patch<User>(`/Users/${ann.id}`, { op: "replace", value: { active: true } });
    expect(on.json.active).toBe(true);
    expect(await membersOf(group)).toEqual([ann.id]);
  });

  test("changes a person by a PUT of the attributes that it has read and its own changes", async () => {
    const { json: read } = await stage.scim.get<User>(`/Users/${ben.id}`);
    const put = await stage.scim.put<User>(`/Users/${ben.id}`, {
      ...read,
      name: { givenName: "Benjamin", familyName: "Field" },
      displayName: "Benjamin Field",
    });
    expect(put.status).toBe(200);
    expect(put.json).toMatchObject({ userName: "ben@okta.local", displayName: "Benjamin Field" });
    expect(put.json.emails).toEqual(ben.emails);
  });

  test("unassigns the last one and deletes the group", async () => {
    await stage.scim.patch(`/Users/${ben.id}`, { op: "replace", value: { active: false } });
    expect((await stage.scim.del(`/Groups/${group.id}`)).status).toBe(204);
    const filter = 'userName eq "ben@okta.local"';
    const { Resources } = await stage.scim.list("/Users", { filter, startIndex: 1, count: 100 });
    expect(Resources.map(({ active }) => active)).toEqual([false]);
  });
});
