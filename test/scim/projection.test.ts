import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, groupSchema, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let ann: User;
let ben: User;

beforeAll(async () => {
  stage = await startScimStage();
  ann = await stage.user("ann@example.com", { displayName: "Ann" });
  ben = await stage.user("ben@example.com", { displayName: "Ben" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

describe("a response", () => {
  test("holds the requested attributes, and always the id", async () => {
    const { id } = await stage.user("projected@example.com", {
      name: { givenName: "Pro", familyName: "Jected" },
    });
    const path = `/Users/${id}`;
    const keys = async (query: string) =>
      Object.keys((await stage.scim.get<object>(`${path}?${query}`)).json);
    expect(await keys("attributes=userName")).toEqual(["schemas", "id", "userName"]);
    expect(await keys("attributes=USERNAME,urn:ietf:params:scim:schemas:core:2.0:User:active")).toEqual([
      "schemas",
      "id",
      "userName",
      "active",
    ]);
    expect(await keys("excludedAttributes=emails,name,roles,meta,id,schemas")).toEqual([
      "schemas",
      "id",
      "userName",
      "displayName",
      "active",
    ]);
    const { json } = await stage.scim.get<User>(`${path}?attributes=name.givenName,emails.value`);
    expect(json.name).toEqual({ givenName: "Pro" });
    expect(Object.keys(json.emails[0] ?? {})).toEqual(["value"]);
  });
});

describe("a PATCH of a group", () => {
  const rename = (displayName: string) => ({ op: "replace", path: "displayName", value: displayName });

  test("returns the requested attributes of the changed group", async () => {
    const { id } = await stage.group("Asked", [ann]);
    const add = { op: "add", path: "members", value: [{ value: ben.id }] };
    const answered = async (query: string, ...operations: object[]) =>
      await stage.scim.patch<Group>(`/Groups/${id}?${query}`, ...operations);
    const renamed = await answered("attributes=displayName", rename("Answered"));
    expect({ status: renamed.status, json: renamed.json }).toEqual({
      status: 200,
      json: { schemas: [groupSchema], id, displayName: "Answered" } as Group,
    });
    const { status, json } = await answered("attributes=members.display", add);
    expect(status).toBe(200);
    expect(json.members?.map(({ display }) => display).sort()).toEqual(["Ann", "Ben"]);
  });

  test("returns no body without requested attributes, since a group may be large", async () => {
    const { id } = await stage.group("Quiet", [ann]);
    for (const query of ["", "?attributes=", "?excludedAttributes=members", "?aadOptscim062020"]) {
      expect((await stage.scim.patch(`/Groups/${id}${query}`, rename(`Quiet ${query}`))).status).toBe(204);
    }
  });

  test("that is refused changes nothing, whatever attributes it requests", async () => {
    const { id } = await stage.group("Refused", [ann]);
    const { status } = await stage.scim.patch(`/Groups/${id}?attributes=displayName`, rename("general"));
    expect(status).toBe(409);
    expect((await stage.scim.get<Group>(`/Groups/${id}`)).json.displayName).toBe("Refused");
  });
});
