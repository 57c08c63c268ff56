import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Group, type Refusal, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let user: User;
let count = 0;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

beforeEach(async () => {
  user = await stage.user(`user${count++}@example.com`, {
    externalId: "ext",
    displayName: "Dee",
    name: { formatted: "Fo", givenName: "Gi", familyName: "Fa" },
    emails: [
      { value: "work@example.com", type: "work", primary: true },
      { value: "home@example.com", type: "home" },
    ],
  });
});

/** The person after the operations. */
async function patched(...operations: object[]): Promise<User> {
  const { status, json } = await stage.scim.patch<User>(`/Users/${user.id}`, ...operations);
  expect(status, JSON.stringify(json)).toBe(200);
  return json;
}

async function refusal(...operations: object[]): Promise<{ status: number; scimType: string | undefined }> {
  const { status, json } = await stage.scim.patch<Refusal>(`/Users/${user.id}`, ...operations);
  return { status, scimType: json.scimType };
}

async function unchanged(): Promise<void> {
  expect((await stage.scim.get<User>(`/Users/${user.id}`)).json).toEqual(user);
}

describe("an operation", () => {
  test("accepts its op, path and attributes in any case, with or without the schema in front", async () => {
    const schema = "URN:IETF:PARAMS:SCIM:SCHEMAS:CORE:2.0:USER";
    const after = await patched(
      { Op: "REPLACE", Path: "DisplayName", Value: "One" },
      { op: "Add", path: `${schema}:name.GIVENNAME`, value: "Two" },
      { op: "rePlace", value: { EXTERNALID: "three" } },
    );
    expect(after).toMatchObject({ displayName: "One", name: { givenName: "Two" }, externalId: "three" });
  });

  test("adds, replaces and removes a value", async () => {
    const after = await patched(
      { op: "remove", path: "externalId" },
      { op: "remove", path: "name.formatted" },
      { op: "replace", path: "name", value: { givenName: "Gus" } },
      { op: "add", path: "displayName", value: "Dan" },
    );
    expect(after).not.toHaveProperty("externalId");
    expect(after).toMatchObject({ name: { givenName: "Gus", familyName: "Fa" }, displayName: "Dan" });
    expect((await patched({ op: "remove", path: "name" })).name).toBeUndefined();
    expect((await patched({ op: "replace", path: "displayName", value: null })).displayName).toBe(
      user.userName,
    );
  });

  test("adds values to a list once, and keeps only one of them primary", async () => {
    const value = [{ value: "new@example.com", type: "other", primary: true }, { value: "home@example.com" }];
    const { emails } = await patched({ op: "add", path: "emails", value });
    expect(emails).toEqual([
      { value: "work@example.com", type: "work", primary: false },
      { value: "new@example.com", type: "other", primary: true },
      { value: "home@example.com", primary: false },
    ]);
    const home = { op: "replace", path: 'emails[value eq "work@example.com"].primary', value: "True" };
    const { emails: after } = await patched(home);
    expect(after.map(({ primary }) => primary)).toEqual([true, false, false]);
  });

  test("replaces or removes a whole list, or its selected values", async () => {
    const path = 'emails[type eq "HOME" and value co "EXAMPLE"]';
    expect((await patched({ op: "remove", path })).emails.map(({ type }) => type)).toEqual(["work"]);
    const value = { value: "second@example.com" };
    expect((await patched({ op: "replace", path: "emails", value })).emails).toEqual([
      { ...value, primary: false },
    ]);
    const shown = [{ value: `${user.id}@parley.invalid`, type: "work", primary: true }];
    expect((await patched({ op: "remove", path: "emails" })).emails).toEqual(shown);
  });

  test("adds the value that a filter describes when none matches", async () => {
    const { emails } = await patched({
      op: "add",
      path: 'emails[type eq "other"].value',
      value: "o@example.com",
    });
    expect(emails.at(-1)).toEqual({ value: "o@example.com", type: "other", primary: false });
    const open = { op: "replace", path: 'emails[value co "nowhere"].value', value: "x@example.com" };
    expect(await refusal(open)).toEqual({ status: 400, scimType: "noTarget" });
  });

  test("on an unknown attribute is ignored, and the others are applied", async () => {
    const after = await patched(
      { op: "add", path: "nickName", value: "D" },
      { op: "add", path: "name.middleName", value: "M" },
      { op: "add", path: 'phoneNumbers[type eq "work"].value', value: "1" },
      {
        op: "replace",
        path: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value",
        value: "7",
      },
      {
        op: "replace",
        value: { id: "1", meta: { created: "1" }, schemas: [], groups: [], displayName: "Done" },
      },
    );
    expect(after).toEqual({ ...user, displayName: "Done", meta: after.meta });
  });
});

describe("an operation is refused", () => {
  test("on a sub-attribute of a member: remove the member and add another", async () => {
    const [inside, outside] = [await stage.user("in@example.com"), await stage.user("out@example.com")];
    const group = await stage.group("Immutable", [inside]);
    const selected = `members[value eq "${inside.id}"]`;
    for (const path of [`${selected}.value`, `${selected}.type`, "members.value"]) {
      const change = { op: "replace", path, value: outside.id };
      const { status, json } = await stage.scim.patch(`/Groups/${group.id}`, change);
      expect({ status, scimType: json.scimType }, path).toEqual({ status: 400, scimType: "mutability" });
    }
    expect((await stage.scim.get<Group>(`/Groups/${group.id}`)).json).toEqual(group);
  });

  test.each([
    ["without a path to remove", { op: "remove" }, "noTarget"],
    ["to remove what a filter does not select", { op: "remove", path: 'emails[type eq "x"]' }, "noTarget"],
    ["with a word that is none", { op: "upsert", path: "displayName", value: "x" }, "invalidSyntax"],
    ["that is no object", "replace", "invalidSyntax"],
    ["on the id", { op: "replace", path: "id", value: "x" }, "mutability"],
    ["on what is known of the resource", { op: "remove", path: "meta.created" }, "mutability"],
    ["with a path that is none", { op: "add", path: "name.givenName.x", value: "x" }, "invalidPath"],
    ["with a bracket that is not closed", { op: "add", path: "emails[type", value: "x" }, "invalidPath"],
    ["with a path that is no text", { op: "add", path: 7, value: "x" }, "invalidPath"],
    [
      "with brackets after a single-valued attribute",
      { op: "add", path: 'name[a eq "x"]', value: "x" },
      "invalidPath",
    ],
    ["with a filter that is none", { op: "remove", path: "emails[type]" }, "invalidFilter"],
    ["with a part in a filter that is none", { op: "remove", path: 'emails[x eq "y"]' }, "invalidFilter"],
    ["without a path and with a text", { op: "add", value: "x" }, "invalidValue"],
    ["that makes active neither true nor false", { op: "add", path: "active", value: "yes" }, "invalidValue"],
    ["that makes a name of a number", { op: "add", path: "displayName", value: 7 }, "invalidValue"],
    ["that makes a name of an object", { op: "add", path: "userName", value: {} }, "invalidValue"],
    ["that makes a list of a number", { op: "add", path: "emails", value: 7 }, "invalidValue"],
    ["that takes the userName away", { op: "remove", path: "userName" }, "invalidValue"],
    ["that makes the userName blank", { op: "replace", path: "userName", value: " \t" }, "invalidValue"],
    ["that is too long", { op: "replace", path: "displayName", value: "x".repeat(256) }, "invalidValue"],
    ["with a line end in a name", { op: "replace", path: "displayName", value: "a\nb" }, "invalidValue"],
  ])("%s, and nothing is changed", async (_, operation, scimType) => {
    const first = { op: "replace", path: "displayName", value: "changed" };
    expect(await refusal(first, operation as object)).toEqual({ status: 400, scimType });
    await unchanged();
  });
});

describe("a PATCH", () => {
  test("whose third operation fails leaves no trace of the first two", async () => {
    const refused = await refusal(
      { op: "replace", path: "displayName", value: "changed" },
      { op: "replace", path: "active", value: false },
      { op: "replace", path: "active", value: "perhaps" },
    );
    expect(refused).toEqual({ status: 400, scimType: "invalidValue" });
    await unchanged();
    expect((await stage.workspaceUser(user.id)).deactivatedAt).toBeNull();
  });

  test("that fails only when it is written leaves no trace either", async () => {
    await stage.user("taken@example.com");
    const refused = await refusal(
      { op: "replace", path: "active", value: false },
      { op: "replace", path: "roles", value: ["admin"] },
      { op: "replace", path: "userName", value: "TAKEN@example.com" },
    );
    expect(refused).toEqual({ status: 409, scimType: "uniqueness" });
    await unchanged();
  });

  test.each([
    ["no operations", { Operations: [] }],
    ["operations that are none", { Operations: {} }],
    ["nothing", {}],
  ])("with %s is refused", async (_, body) => {
    const { status, json } = await stage.scim.send("PATCH", `/Users/${user.id}`, body);
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidSyntax" });
  });

  test("accepts Operations in any case", async () => {
    const body = { operations: [{ op: "replace", path: "displayName", value: "lower" }] };
    const { json } = await stage.scim.send<User>("PATCH", `/Users/${user.id}`, body);
    expect(json.displayName).toBe("lower");
  });

  test("of a thousand operations is accepted, and of one more refused", async () => {
    const operations = Array.from({ length: 1_000 }, (_, n) => ({
      op: "replace",
      path: "displayName",
      value: `${n}`,
    }));
    expect((await patched(...operations)).displayName).toBe("999");
    const more = { op: "replace", path: "displayName", value: "more" };
    expect(await refusal(...operations, more)).toEqual({ status: 400, scimType: "tooMany" });
  });
});
