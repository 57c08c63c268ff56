import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { listAuditEntries } from "../../src/audit/audit.ts";
import { setRole } from "../../src/accounts/people.ts";
import { actor } from "../support/workspace.ts";
import { type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
});

afterAll(async () => await stage[Symbol.asyncDispose]());

async function read({ id }: { id: string }): Promise<User> {
  return (await stage.scim.get<User>(`/Users/${id}`)).json;
}

describe("roles", () => {
  test("make admins and members, and stay as they are when absent", async () => {
    const user = await stage.user("admin@example.com", { roles: [{ value: "admin" }] });
    expect(user.roles).toEqual([{ value: "admin", primary: true }]);
    const renamed = await stage.scim.put<User>(`/Users/${user.id}`, { userName: "admin@example.com" });
    expect(renamed.json.roles).toEqual([{ value: "admin", primary: true }]);
    const member = await stage.scim.put<User>(`/Users/${user.id}`, {
      userName: "admin@example.com",
      roles: ["Member"],
    });
    expect(member.json.roles).toEqual([{ value: "member", primary: true }]);
    const entries = await stage.workspace.database.ask((db) =>
      listAuditEntries(db, stage.teamId, { limit: 2 }),
    );
    expect(entries.map(({ actor: who, action, details }) => ({ who, action, to: details.to }))).toEqual([
      { who: "scim", action: "user.role_set", to: "member" },
      { who: "scim", action: "user.role_set", to: "admin" },
    ]);
  });

  test("cannot make owners", async () => {
    const refused = await stage.scim.post("/Users", {
      userName: "boss@example.com",
      roles: [{ value: "owner" }],
    });
    expect({ status: refused.status, scimType: refused.json.scimType }).toEqual({
      status: 400,
      scimType: "invalidValue",
    });
    expect((await stage.scim.list("/Users", { filter: 'userName eq "boss@example.com"' })).totalResults).toBe(
      0,
    );
  });

  test("cannot remove owners", async () => {
    for (const value of [[], ["member"], [{ value: "admin" }]]) {
      const operation = { op: "replace", path: "roles", value };
      const { json } = await stage.scim.patch<User>(`/Users/${stage.owner.id}`, operation);
      expect(json.roles).toEqual([{ value: "owner", primary: true }]);
    }
  });
});

describe("the last owner", () => {
  test("cannot be deactivated or deleted, and nothing else of the request is applied", async () => {
    const path = `/Users/${stage.owner.id}`;
    const before = await read(stage.owner);
    for (const refused of [
      await stage.scim.patch(path, { op: "replace", value: { displayName: "Gone", active: false } }),
      await stage.scim.put(path, { userName: "gone@example.com", active: false }),
      await stage.scim.del(path),
    ]) {
      expect(refused.status).toBe(403);
      expect(refused.json.detail).toContain("last owner");
    }
    expect(await read(stage.owner)).toEqual(before);
  });

  test("can be once there is another owner", async () => {
    const user = await stage.user("second-owner@example.com");
    const row = await stage.workspaceUser(user.id);
    await stage.workspace.database.write((tx) => setRole(tx, row, "owner", actor));
    const off = await stage.scim.patch<User>(`/Users/${user.id}`, {
      op: "replace",
      path: "active",
      value: false,
    });
    expect(off.json.active).toBe(false);
  });
});
