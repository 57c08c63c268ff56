import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type User } from "./scim-client.ts";
import { type ScimStage, startScimStage } from "./scim-stage.ts";

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

describe("an answer", () => {
  test("holds what is asked for, and always the id", async () => {
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
