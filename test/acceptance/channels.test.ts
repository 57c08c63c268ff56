import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { UserRow } from "../../src/users/store.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

type ChannelData = { data: Channel };

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;
let admin: ApiClient;
let owner: ApiClient;

beforeAll(async () => {
  stage = await startStage();
  const { cast } = stage;
  bot = await stage.as(cast.bot);
  member = await stage.as(cast.member);
  admin = await stage.as(cast.admin);
  owner = await stage.as(cast.owner);
});

afterAll(() => stage[Symbol.asyncDispose]());

let count = 0;
/** A name that no other channel has. */
function freshName(): string {
  count += 1;
  return `fresh ${count}`;
}

async function freshChannel(
  creator: UserRow,
  visibility: "public" | "private" = "public",
): Promise<ChannelRow> {
  return await stage.workspace.channel(creator, freshName(), visibility);
}

describe("creating a channel", () => {
  test("answers with all of its fields and makes the subject its first and only member", async () => {
    const before = Date.now();
    const { status, json } = await bot.post<ChannelData>("/channels", {
      name: "Release Notes",
      visibility: "private",
      topic: "What is new",
    });
    expect(status).toBe(201);
    expect(json).toEqual({
      data: {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        name: "Release Notes",
        slug: "release-notes",
        visibility: "private",
        topic: "What is new",
        is_general: false,
        is_archived: false,
        is_direct: false,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/),
      },
    });
    expect(Date.parse(json.data.created_at ?? "")).toBeWithin(before, Date.now() + 1);

    expect((await bot.get(`/channels/${json.data.id}`)).json as unknown).toEqual(json);
    const members = await bot.get<{ data: unknown[] }>(`/channels/${json.data.id}/members`);
    expect(members.json.data).toEqual([{ id: stage.cast.bot.id, name: "Build Bot", type: "bot" }]);
  });

  test("writes no notice that its creator joined", async () => {
    const { json } = await member.post<ChannelData>("/channels", { name: freshName(), visibility: "public" });
    const page = await member.get<{ data: unknown[] }>(`/channels/${json.data.id}/messages`);
    expect(page.json.data).toEqual([]);
  });

  test("takes a topic, null, or nothing", async () => {
    for (const [topic, stored] of [
      ["Hello", "Hello"],
      [null, null],
      [undefined, null],
      ["", ""],
    ] as const) {
      const input = { name: freshName(), visibility: "public", topic };
      expect((await bot.post<ChannelData>("/channels", input)).json.data.topic).toBe(stored);
    }
  });

  test("drops one leading # of the name", async () => {
    const { json } = await bot.post<ChannelData>("/channels", { name: "##urgent", visibility: "public" });
    expect(json.data).toMatchObject({ name: "#urgent", slug: "urgent" });
  });

  test("measures the name without that #", async () => {
    const create = (name: string) => bot.post<ChannelData>("/channels", { name, visibility: "public" });
    const name = `long ${"x".repeat(250)}`;
    expect((await create(`#${name}`)).json.data.name).toBe(name);
    for (const refused of [`#${name}x`, `##${name}`, "#"]) {
      const { status, json } = await bot.post("/channels", { name: refused, visibility: "public" });
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["name"]]);
    }
  });

  test("refuses every field that is wrong, by its name", async () => {
    const refused: Array<[body: object, fields: string[]]> = [
      [{}, ["name", "visibility"]],
      [{ name: "", visibility: "open" }, ["name", "visibility"]],
      [{ name: 5, visibility: "public", topic: 5 }, ["name", "topic"]],
      [{ name: null, visibility: null }, ["name", "visibility"]],
      [{ name: "two\nlines", visibility: "public" }, ["name"]],
      [[], ["body"]],
    ];
    for (const [body, fields] of refused) {
      const { status, json } = await bot.post("/channels", body);
      expect(status).toBe(422);
      expect(Object.keys(json.errors ?? {}).sort()).toEqual(fields);
    }
  });

  test("ignores fields that it does not know", async () => {
    const input = { name: freshName(), visibility: "public", is_general: true, id: "x", slug: "mine" };
    const { status, json } = await bot.post<ChannelData>("/channels", input);
    expect(status).toBe(201);
    expect(json.data).toMatchObject({ is_general: false });
    expect(json.data.slug).not.toBe("mine");
  });
});

describe("a slug", () => {
  const create = (name: string) =>
    bot.post<ChannelData & { errors?: object }>("/channels", { name, visibility: "public" });

  test.each([
    ["日本語", "日本語"],
    ["Über Café", "über-café"],
    ["ＦＵＬＬ　Ｗｉｄｔｈ", "full-width"],
    ["  --Spaces & Signs!--  ", "spaces-signs"],
  ])("of %p is %p", async (name, slug) => {
    const { status, json } = await create(name);
    expect(status).toBe(201);
    expect(json.data).toMatchObject({ name, slug });
  });

  test.each(["#general", "General", "GENERAL!", "ｇｅｎｅｒａｌ"])(
    "is taken by the general channel: %p",
    async (name) => {
      const { status, json } = await create(name);
      expect(status).toBe(422);
      expect(Object.keys(json.errors ?? {})).toEqual(["name"]);
    },
  );

  test.each(["!?", "#", "🎉", "   ", "❤️"])("is nowhere in %p, which is refused", async (name) => {
    const { status, json } = await create(name);
    expect(status).toBe(422);
    expect(Object.keys(json.errors ?? {})).toEqual(["name"]);
  });

  test("stays taken by an archived channel and by a private one that the subject cannot see", async () => {
    const idle = await stage.as(stage.cast.idleBot);
    for (const name of ["archived", "secret"]) {
      expect((await idle.post("/channels", { name, visibility: "public" })).status).toBe(422);
    }
  });

  test("is free when only another team has it", async () => {
    expect((await create("elsewhere")).status).toBe(201);
  });

  test("goes to one of twenty that ask for it at once", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create("Contested")));
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect([statuses.get(201)?.length, statuses.get(422)?.length]).toEqual([1, 19]);
  });
});

describe("archiving a channel", () => {
  const archive = (client: ApiClient, channel: ChannelRow) =>
    client.post<ChannelData>(`/channels/${channel.id}/archive`);

  test("by its creator, a bot or a human, answers with the channel as it is now", async () => {
    for (const [creator, client] of [
      [stage.cast.bot, bot],
      [stage.cast.member, member],
    ] as const) {
      const channel = await freshChannel(creator);
      const { status, json } = await archive(client, channel);
      expect(status).toBe(200);
      expect(json.data).toMatchObject({ id: channel.id, name: channel.name, is_archived: true });
      expect((await client.get<ChannelData>(`/channels/${channel.id}`)).json).toEqual(json);
    }
  });

  test("again is refused to a bot and changes nothing for a human", async () => {
    const ofBot = await freshChannel(stage.cast.bot);
    expect((await archive(bot, ofBot)).status).toBe(200);
    expect((await archive(bot, ofBot)).status).toBe(403);
    const ofMember = await freshChannel(stage.cast.member);
    const first = await archive(member, ofMember);
    const second = await archive(member, ofMember);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.json).toEqual(first.json);
  });

  test("is open to team admins in any channel of their team, seen or not", async () => {
    for (const client of [admin, owner]) {
      for (const visibility of ["public", "private"] as const) {
        const channel = await freshChannel(stage.cast.member, visibility);
        expect((await archive(client, channel)).json.data.is_archived).toBe(true);
      }
    }
  });

  test("is refused to whoever did not create it", async () => {
    const open = await freshChannel(stage.cast.owner);
    await stage.workspace.join(open, stage.cast.bot);
    await stage.workspace.join(open, stage.cast.member);
    expect((await archive(bot, open)).status).toBe(403);
    expect((await archive(member, open)).status).toBe(403);
    const hidden = await freshChannel(stage.cast.owner, "private");
    expect((await archive(bot, hidden)).status).toBe(404);
    expect((await archive(member, hidden)).status).toBe(404);
    const outsider = await stage.as(stage.cast.outsider);
    expect((await archive(outsider, open)).status).toBe(404);
  });

  test("is refused to everybody for the general channel and for direct messages", async () => {
    const { general, direct } = stage.cast;
    await stage.workspace.join(general, stage.cast.bot);
    for (const client of [bot, member, admin, owner])
      expect((await archive(client, general)).status).toBe(403);
    for (const client of [member, owner]) expect((await archive(client, direct)).status).toBe(403);
    for (const client of [bot, admin]) expect((await archive(client, direct)).status).toBe(404);
    expect((await owner.get<ChannelData>(`/channels/${general.id}`)).json.data).toMatchObject({
      is_general: true,
      is_archived: false,
    });
  });
});
