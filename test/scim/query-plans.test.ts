import type { Database as SqliteFile } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Transaction } from "../../src/database/database.ts";
import { groupResourceType, userResourceType } from "../../src/scim/protocol/attributes.ts";
import type { Directory } from "../../src/scim/protocol/directory.ts";
import { createGroup, listGroups, patchGroup } from "../../src/scim/groups/groups.ts";
import { parametersOfBody } from "../../src/scim/protocol/parameters.ts";
import { queryOf } from "../../src/scim/protocol/query.ts";
import { createUser, getUser, listUsers, patchUser, replaceUser } from "../../src/scim/users/users.ts";
import { type NotingConnection, notingConnection } from "../database/noting-connection.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

/**
 * What a directory asks for one person or one group must cost the same among any number of them. These tests run the
 * real operations on a connection that notes each statement, and ask SQLite how it carries each one out.
 */
const folder = temporaryFolder();
let connection: NotingConnection;
let workspace: Workspace;
let directory: Directory;
let file: SqliteFile;
let tx: Transaction;
let noted: NotingConnection["noted"];

beforeAll(async () => {
  workspace = await openWorkspace(folder.path);
  const { id } = await workspace.team("Acme");
  directory = { teamId: id, root: "" };
  connection = notingConnection(join(folder.path, "parley.db"));
  ({ tx, file, noted } = connection);
});

afterAll(async () => {
  connection[Symbol.dispose]();
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The steps of every statement that the operation runs, with the statement. */
async function plansOf(operation: () => Promise<unknown>): Promise<Array<{ sql: string; step: string }>> {
  noted.length = 0;
  await operation();
  return noted.flatMap(({ sql, params }) => {
    const explained = file.query<{ detail: string }, never[]>(`EXPLAIN QUERY PLAN ${sql}`);
    return explained.all(...(params as never[])).map(({ detail }) => ({ sql, step: detail }));
  });
}

/** Fails on a statement that goes through a table, or reads everybody of the team or of a channel. */
async function expectFlatCost(operation: () => Promise<unknown>): Promise<void> {
  const plans = await plansOf(operation);
  expect(plans.length).toBeGreaterThan(0);
  for (const { sql, step } of plans) {
    expect(step, sql).not.toMatch(/\bSCAN\b/);
    expect(step, sql).not.toMatch(/\((team_id|channel_id)=\?\)/);
    expect(sql, step).not.toMatch(/\bcount\(/i);
  }
}

const all = { only: undefined, not: new Set<string>() };

describe("the cost does not grow with the number of people", () => {
  test.each([
    'userName eq "ann@example.com"',
    'externalId eq "A"',
    'id eq "01a1fac4-f17c-7585-a4ef-9d858175ba3b"',
    'displayName eq "Ann"',
    'emails.value eq "ann@example.com"',
    'emails[type eq "work"].value eq "ann@example.com"',
    'userName eq "ann@example.com" and active eq true',
  ])("when a person is looked up by %s", async (filter) => {
    const query = queryOf(userResourceType, parametersOfBody({ filter, startIndex: 1, count: 100 }));
    await expectFlatCost(() => listUsers(tx, directory, query));
  });

  test("when a person is added, read, replaced and patched", async () => {
    const body = { userName: "ann@example.com", emails: [{ value: "ann@example.com" }] };
    const made = await createUser(tx, directory, body);
    await expectFlatCost(() => createUser(tx, directory, { ...body, userName: "ben@example.com" }));
    await expectFlatCost(() => getUser(tx, directory, made.id));
    await expectFlatCost(() => replaceUser(tx, directory, made.id, { ...body, displayName: "Ann" }));
    const operation = { op: "replace", path: "active", value: false };
    await expectFlatCost(() => patchUser(tx, directory, made.id, { Operations: [operation] }));
  });

  test("when a group gets a member and loses one", async () => {
    const { id } = await createUser(tx, directory, { userName: "cy@example.com" });
    const group = await createGroup(tx, directory, { displayName: "Group" }, all);
    for (const operation of [
      { op: "add", path: "members", value: [{ value: id }] },
      { op: "remove", path: `members[value eq "${id}"]` },
    ]) {
      await expectFlatCost(() => patchGroup(tx, directory, group.id, { Operations: [operation] }, all));
    }
  });
});

test.each([
  ["people", undefined],
  ["people", "displayName"],
  ["people", "emails"],
  ["people", "meta.created"],
  ["groups", undefined],
  ["groups", "displayName"],
])("the pages of %s, sorted by %s, have one order, with the id as the last key", async (what, sortBy) => {
  const read = parametersOfBody({ sortBy, excludedAttributes: "members" });
  await plansOf(() =>
    what === "people"
      ? listUsers(tx, directory, queryOf(userResourceType, read))
      : listGroups(tx, directory, queryOf(groupResourceType, read)),
  );
  const pages = noted.filter(({ sql }) => sql.includes(" limit "));
  expect(pages.length).toBeGreaterThan(0);
  for (const { sql } of pages) expect(sql).toMatch(/order by .*"id" asc limit/);
});

describe("an index is used", () => {
  test.each([
    ["the pages of people", "Users", {}, /users_of_directory \(team_id=\?\)/],
    [
      "people by userName",
      "Users",
      { filter: 'userName eq "a"' },
      /users_by_user_name \(team_id=\? AND user_name=\?\)/,
    ],
    ["the order by userName", "Users", { sortBy: "userName" }, /users_by_user_name \(team_id=\?\)/],
    [
      "groups by name",
      "Groups",
      { filter: 'displayName eq "a"' },
      /managed_channels_by_name \(team_id=\? AND name=\?\)/,
    ],
    ["groups by externalId", "Groups", { filter: 'externalId eq "a"' }, /managed_channels_by_external_id/],
    [
      "the groups of a person",
      "Groups",
      { filter: 'members eq "a"' },
      /channel_members_by_user \(user_id=\?\)/,
    ],
  ])("for %s", async (_, kind, parameters, index) => {
    const read = parametersOfBody({ ...parameters, excludedAttributes: "members" });
    const plans = await plansOf(() =>
      kind === "Users"
        ? listUsers(tx, directory, queryOf(userResourceType, read))
        : listGroups(tx, directory, queryOf(groupResourceType, read)),
    );
    expect(plans.map(({ step }) => step).join("\n")).toMatch(index);
    // The last term is the id, of which there is one for each userName.
    expect(plans.map(({ step }) => step).join("\n")).not.toMatch(/TEMP B-TREE FOR (?!LAST TERM)/);
  });
});
