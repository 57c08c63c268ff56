import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createManagedChannel } from "../../src/channels/channels.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import {
  groupSchema,
  type Group,
  scimClient,
  type ScimClient,
  type User,
  userSchema,
} from "../support/scim-client.ts";
import { actor } from "../support/workspace.ts";
import { type PermissionStage, startPermissionStage } from "../support/permission-stage.ts";

/** The directory of one team reaches the people and groups of that team, and nothing of another or of its channels. */
const token = "the-directory-of-acme-and-of-nobody-else";

let stage: PermissionStage;
let scim: ScimClient;
/** A group of the directory with the stranger in it. */
let group: Group;
/** A group of the other team with its owner in it. */
let foreignGroup: ChannelRow;

beforeAll(async () => {
  stage = await startPermissionStage({ SCIM_TOKEN: token, SCIM_TEAM: "acme" });
  const { workspace, cast, server } = stage;
  scim = scimClient(server.url, token);
  const managed = { name: "Umbrella group", externalId: "umbrella-1" };
  foreignGroup = await workspace.database.write((tx) =>
    createManagedChannel(tx, cast.otherTeamId, managed, actor),
  );
  await workspace.join(foreignGroup, cast.outsider);
  const body = { schemas: [groupSchema], displayName: "Acme group", members: [{ value: cast.stranger.id }] };
  group = (await scim.post<Group>("/Groups", body)).json;
});
afterAll(() => stage[Symbol.asyncDispose]());

const asUser = { schemas: [userSchema], userName: "taken@example.com", active: false };
const asGroup = { schemas: [groupSchema], displayName: "taken", members: [] };
const patchOf = (path: string, value: unknown) => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
  Operations: [{ op: "replace", path, value }],
});

/** What a directory could try on a resource whose id it knows. */
const requests: Array<[method: string, kind: "Users" | "Groups", body?: object]> = [
  ["GET", "Users"],
  ["PUT", "Users", asUser],
  ["PATCH", "Users", patchOf("active", false)],
  ["DELETE", "Users"],
  ["GET", "Groups"],
  ["PUT", "Groups", asGroup],
  ["PATCH", "Groups", patchOf("displayName", "taken")],
  ["DELETE", "Groups"],
];

describe.each(requests)("%s /scim/v2/%s/{id}", (method, kind, body) => {
  test("responds alike to an id of another team, an id that is not the directory's and an unknown id", async () => {
    const { cast } = stage;
    const ids =
      kind === "Users"
        ? [cast.outsider.id, cast.outsiderBot.id, cast.bot.id, group.id]
        : [
            foreignGroup.id,
            cast.elsewhere.id,
            cast.secret.id,
            cast.open.id,
            cast.direct.id,
            cast.stranger.id,
          ];
    const answerTo = async (id: string) => {
      const { status, json } = await scim.send<object>(method, `/${kind}/${id}`, body);
      return { status, said: JSON.stringify(json).replaceAll(id, "…") };
    };
    await stage.changingNothing(async () => {
      const unknown = await answerTo(Bun.randomUUIDv7());
      expect(unknown.status).toBe(404);
      for (const id of ids) expect(await answerTo(id)).toEqual(unknown);
    });
  });
});

describe("the members of a group", () => {
  const ways: Array<[title: string, method: string, path: () => string, body: (id: string) => object]> = [
    ["a new group", "POST", () => "/Groups", (value) => ({ ...asGroup, members: [{ value }] })],
    ["a PUT", "PUT", () => `/Groups/${group.id}`, (value) => ({ ...asGroup, members: [{ value }] })],
    ["a PATCH", "PATCH", () => `/Groups/${group.id}`, (value) => patchOf("members", [{ value }])],
    [
      "a PATCH that removes",
      "PATCH",
      () => `/Groups/${group.id}`,
      (value) => ({
        ...patchOf("", []),
        Operations: [{ op: "remove", path: `members[value eq "${value}"]` }],
      }),
    ],
  ];

  test.each(ways)("with %s cannot be people of another team or bots", async (_, method, path, body) => {
    const { cast } = stage;
    const answerTo = async (id: string) => {
      const { status, json } = await scim.send<object>(method, path(), body(id));
      return { status, said: JSON.stringify(json).replaceAll(id, "…") };
    };
    await stage.changingNothing(async () => {
      const unknown = await answerTo(Bun.randomUUIDv7());
      expect(unknown.status).toBe(400);
      for (const { id } of [cast.outsider, cast.outsiderBot, cast.bot])
        expect(await answerTo(id)).toEqual(unknown);
    });
  });
});

describe("a search", () => {
  const searches: Array<[kind: "Users" | "Groups", filterOf: () => string]> = [
    ["Users", () => `id eq "${stage.cast.outsider.id}"`],
    ["Users", () => `userName eq "${stage.cast.outsider.userName}"`],
    ["Users", () => `displayName co "Umbrella"`],
    ["Users", () => `id ne "${stage.cast.stranger.id}" and displayName sw "Umbrella"`],
    ["Users", () => `not (id eq "x") and name.formatted co "Umbrella"`],
    ["Groups", () => `id eq "${foreignGroup.id}"`],
    ["Groups", () => `externalId eq "umbrella-1" or displayName eq "Umbrella group"`],
    ["Groups", () => `members.value eq "${stage.cast.outsider.id}"`],
    ["Groups", () => `displayName eq "elsewhere" or displayName eq "secret"`],
  ];

  test.each(searches)(
    "of %s finds nothing of another team, and no channel that is not a group",
    async (kind, filterOf) => {
      const filter = filterOf();
      expect((await scim.list<object>(`/${kind}`, { filter })).totalResults, filter).toBe(0);
      for (const path of [`/${kind}/.search`, "/.search"]) {
        const { status, json } = await scim.post<{ totalResults: number }>(path, { filter });
        expect([status, json.totalResults], `${path} ${filter}`).toEqual([200, 0]);
      }
    },
  );

  test("for everything, in any order and on any page, finds only the team's own", async () => {
    const { cast } = stage;
    const found = new Set<string>();
    for (const sortBy of ["id", "displayName", "meta.lastModified"]) {
      for (const kind of ["Users", "Groups"]) {
        const { totalResults, Resources } = await scim.list<{ id: string }>(`/${kind}`, { sortBy });
        expect(Resources).toHaveLength(totalResults);
        for (const { id } of Resources) found.add(id);
      }
    }
    expect(found).toContain(cast.stranger.id);
    expect(found).toContain(group.id);
    for (const { id } of [
      cast.outsider,
      cast.outsiderBot,
      foreignGroup,
      cast.elsewhere,
      cast.bot,
      cast.secret,
    ]) {
      expect(found).not.toContain(id);
    }
  });
});

test("a name that another team uses is free, and leaves that team as it is", async () => {
  const { cast } = stage;
  const { userName } = cast.outsider;
  const before = await (await stage.as(cast.outsider)).get("/channels");
  const made = await scim.post<User>("/Users", { schemas: [userSchema], userName, externalId: "umbrella-1" });
  expect(made.status).toBe(201);
  expect(made.json.id).not.toBe(cast.outsider.id);
  const named = { schemas: [groupSchema], displayName: foreignGroup.name, externalId: "umbrella-1" };
  const madeGroup = await scim.post<Group>("/Groups", named);
  expect(madeGroup.status).toBe(201);
  expect(madeGroup.json.id).not.toBe(foreignGroup.id);
  expect((await (await stage.as(cast.outsider)).get("/channels")).text).toBe(before.text);
});
