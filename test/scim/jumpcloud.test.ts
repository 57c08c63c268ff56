import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

/** JumpCloud tries every connection out by making and deleting a person and a group, always of the same names. */
let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage({ contentType: "application/json" });
});

afterAll(async () => await stage[Symbol.asyncDispose]());

describe("JumpCloud's test of the connection", () => {
  test.each([1, 2, 3])("passes as often as it is made: time %i", async () => {
    const user = await stage.user("jc_test_user", {
      emails: [{ value: "jc_test@example.com", primary: true }],
    });
    const made = await stage.scim.post<Group>("/Groups", { displayName: "jc_test_group", members: [] });
    expect(made.status).toBe(201);
    const { id } = made.json;
    await stage.scim.patch(`/Groups/${id}`, { op: "Add", path: "members", value: [{ value: user.id }] });
    const removal = { op: "Remove", path: "members", value: [{ value: user.id }] };
    expect((await stage.scim.patch(`/Groups/${id}`, removal)).status).toBe(204);
    expect((await stage.scim.get<User>(`/Users/${user.id}`)).json.active).toBe(true);
    expect((await stage.scim.del(`/Users/${user.id}`)).status).toBe(204);
    expect((await stage.scim.del(`/Groups/${id}`)).status).toBe(204);
  });
});
