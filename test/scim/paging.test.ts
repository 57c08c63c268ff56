import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Refusal } from "../support/scim-client.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

const people = 10_000;

let stage: ScimStage;

beforeAll(async () => {
  stage = await startScimStage();
  // One is there: the owner.
  await stage.seed([
    `WITH RECURSIVE number(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
     INSERT INTO users (id, team_id, type, name, role, user_name, display_name, created_at, updated_at, deactivated_at)
     SELECT '019a0000-' || substr(CAST(10000 + n * 7919 % 10000 AS text), 2) || '-7000-8000-' ||
         substr(CAST(1000000000000 + n AS text), 2), ?, 'human', 'Person ' || n, 'member',
       'person' || n || '@example.com', 'Person ' || n, n, n, CASE n % 3 WHEN 0 THEN n END
     FROM number`,
    people,
    stage.teamId,
  ]);
});

afterAll(async () => await stage[Symbol.asyncDispose]());

type Page = { total: number; startIndex: number; itemsPerPage: number; ids: string[] };

async function page(parameters: Record<string, string | number>): Promise<Page> {
  const list = await stage.scim.list("/Users", { attributes: "id", ...parameters });
  return {
    total: list.totalResults,
    startIndex: list.startIndex,
    itemsPerPage: list.itemsPerPage,
    ids: list.Resources.map(({ id }) => id),
  };
}

/** Every id, page after page, as a directory reads them. */
async function walk(count: number, parameters: Record<string, string> = {}): Promise<string[]> {
  const ids: string[] = [];
  let total = 1;
  while (ids.length < total) {
    const next = await page({ ...parameters, startIndex: ids.length + 1, count });
    expect(next.itemsPerPage).toBeGreaterThan(0);
    if (ids.length > 0) expect(next.total).toBe(total);
    total = next.total;
    ids.push(...next.ids);
  }
  return ids;
}

describe("10,000 people", () => {
  test("are listed once each in the same order, for every page size", async () => {
    const first = await walk(1_000);
    expect(new Set(first).size).toBe(people);
    for (const count of [37, 100, 333, 999, 5_000, 1_000_000_000]) {
      expect(await walk(count), `pages of ${count}`).toEqual(first);
    }
  });

  test("are listed once each under a filter or an order, with the number of matches", async () => {
    const active = await walk(500, { filter: "active eq true" });
    expect(new Set(active).size).toBe(active.length);
    expect(active).toHaveLength(people - Math.floor(people / 3));
    const byName = await walk(700, { sortBy: "userName" });
    expect(new Set(byName).size).toBe(people);
    expect(await walk(900, { sortBy: "userName", sortOrder: "descending" })).toEqual(byName.toReversed());
    // Many have no address, and stand in one order among each other all the same.
    expect(new Set(await walk(800, { sortBy: "emails" })).size).toBe(people);
  });

  test("keep their positions when somebody is added, changed or deactivated meanwhile", async () => {
    const before = await walk(1_000);
    const [, second] = before;
    await stage.scim.patch(`/Users/${second}`, {
      op: "replace",
      value: { displayName: "Zoe", active: false },
    });
    await stage.user("latecomer@example.com");
    const after = await walk(1_000);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after).toHaveLength(people + 1);
  });
});

describe("the parameters of a page", () => {
  test.each([
    ["a start below 1 is 1", { startIndex: 0, count: 2 }, { startIndex: 1, itemsPerPage: 2 }],
    ["a start far below 1 is 1", { startIndex: -5, count: 2 }, { startIndex: 1, itemsPerPage: 2 }],
    [
      "a start after the end is an empty page",
      { startIndex: 1e9, count: 2 },
      { startIndex: 1e9, itemsPerPage: 0 },
    ],
    ["no count is 100", {}, { startIndex: 1, itemsPerPage: 100 }],
    ["a count of 0 is only the total", { count: 0 }, { startIndex: 1, itemsPerPage: 0 }],
    ["a count below 0 is 0", { count: -1 }, { startIndex: 1, itemsPerPage: 0 }],
    ["a huge count is the largest page", { count: 1e9 }, { startIndex: 1, itemsPerPage: 1_000 }],
    ["blanks are nothing", { startIndex: "", count: "" }, { startIndex: 1, itemsPerPage: 100 }],
    ["what nobody knows is nothing", { aadOptscim062020: "", page: 7 }, { startIndex: 1, itemsPerPage: 100 }],
  ])("%s", async (_, parameters, expected) => {
    const { total, startIndex, itemsPerPage } = await page(parameters);
    expect({ startIndex, itemsPerPage }).toEqual(expected);
    expect(total).toBeGreaterThanOrEqual(people);
  });

  test.each([
    ["startIndex", "one"],
    ["count", "1.5"],
    ["count", "1e9"],
    ["count", "0x10"],
    ["count", "١"],
    ["startIndex", "99999999999999999999"],
    ["sortBy", "nickName"],
    ["sortBy", "__proto__"],
  ])("%s=%s is refused", async (name, value) => {
    const { status, json } = await stage.scim.get<Refusal>(`/Users?${name}=${encodeURIComponent(value)}`);
    expect({ status, scimType: json.scimType }).toEqual({ status: 400, scimType: "invalidValue" });
  });
});
