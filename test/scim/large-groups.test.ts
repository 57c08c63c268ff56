import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Group, type User } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
let user: User;

beforeAll(async () => {
  stage = await startScimStage();
  user = await stage.user("one-more@example.com");
});

afterAll(async () => await stage[Symbol.asyncDispose]());

describe("a group of 100,000 members", () => {
  let group: Group;

  beforeAll(async () => {
    group = await stage.group("Everybody");
    await stage.seed(
      [
        `WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 100000)
         INSERT INTO users (id, team_id, type, name, role, user_name, display_name, created_at, updated_at)
         SELECT '019a0000-0000-7000-8000-' || substr(CAST(1000000000000 + n AS text), 2), ?, 'human', 'P' || n, 'member', 'p' || n, 'P' || n, 1, 1
         FROM number`,
        stage.teamId,
      ],
      [
        "INSERT INTO channel_members (channel_id, user_id, joined_at) SELECT ?, id, 1 FROM users WHERE created_at = 1",
        group.id,
      ],
    );
  });

  test("is shown, and one member is added and one removed", async () => {
    const { json } = await stage.scim.get<Group>(`/Groups/${group.id}`);
    expect(json.members).toHaveLength(100_000);
    const leaver = json.members?.[0]?.value ?? "";
    const { status } = await stage.scim.patch(
      `/Groups/${group.id}`,
      { op: "add", path: "members", value: [{ value: user.id }] },
      { op: "remove", path: `members[value eq "${leaver}"]` },
    );
    expect(status).toBe(204);
    const after = (await stage.scim.get<Group>(`/Groups/${group.id}`)).json.members ?? [];
    const ids = new Set(after.map(({ value }) => value));
    expect([ids.size, ids.has(user.id), ids.has(leaver)]).toEqual([100_000, true, false]);
  });

  test("with one more is refused with its members, and shown without them", async () => {
    await stage.group("One more", [user]);
    const { status, json } = await stage.scim.get("/Groups");
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "tooMany" });
    const { totalResults } = await stage.scim.list<Group>("/Groups", { excludedAttributes: "members" });
    expect(totalResults).toBeGreaterThan(1);
  });
});
