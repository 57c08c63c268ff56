import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { User } from "../../src/users/schemas.ts";
import type { UserRow } from "../../src/users/store.ts";
import { deactivate } from "../../src/accounts/people.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;
let admin: ApiClient;
let owner: ApiClient;
let stranger: ApiClient;
/** A private channel of the member, with the bot in it. */
let team: ChannelRow;
/** Somebody who is in no channel yet. */
let newcomer: UserRow;

beforeAll(async () => {
  stage = await startStage();
  const { cast } = stage;
  bot = await stage.as(cast.bot);
  member = await stage.as(cast.member);
  admin = await stage.as(cast.admin);
  owner = await stage.as(cast.owner);
  stranger = await stage.as(cast.stranger);
});

beforeEach(async () => {
  const { cast, workspace } = stage;
  team = await workspace.channel(cast.member, `team ${Bun.randomUUIDv7()}`, "private");
  await workspace.join(team, cast.bot);
  newcomer = await workspace.person(cast.teamId, "Nora Newcomer");
});

afterAll(() => stage[Symbol.asyncDispose]());

const add = (client: ApiClient, channel: ChannelRow, user: { id: string }) =>
  client.post<{ data: User; errors?: object }>(`/channels/${channel.id}/members`, { user_id: user.id });
const remove = (client: ApiClient, channel: ChannelRow, user: { id: string }) =>
  client.del(`/channels/${channel.id}/members/${user.id}`);

async function names(channel: ChannelRow): Promise<string[]> {
  const { json } = await admin.get<{ data: User[] }>(`/channels/${channel.id}/members`);
  return json.data.map(({ name }) => name);
}

async function newest(channel: ChannelRow): Promise<Message | undefined> {
  const { json } = await member.get<{ data: Message[] }>(`/channels/${channel.id}/messages`);
  return json.data[0];
}

describe("the members of a channel", () => {
  test("are shown as users, ordered by name, ignoring case and accents", async () => {
    const { cast, workspace } = stage;
    for (const name of ["zoe", "Zack", "ádám", "Adele", "Bot 10", "Bot 9"]) {
      await workspace.join(team, await workspace.person(cast.teamId, name));
    }
    const { json } = await bot.get<{ data: User[] }>(`/channels/${team.id}/members`);
    expect(json.data.map(({ name }) => name)).toEqual([
      "ádám",
      "Adele",
      "Bot 9",
      "Bot 10",
      "Build Bot",
      "Max Member",
      "Zack",
      "zoe",
    ]);
    expect(json.data[4]).toEqual({ id: cast.bot.id, name: "Build Bot", type: "bot" });
    expect(json.data[5]).toEqual({ id: cast.member.id, name: "Max Member", type: "human" });
  });

  test("do not include deactivated users", async () => {
    const { workspace } = stage;
    await workspace.join(team, newcomer);
    await workspace.database.write((tx) => deactivate(tx, newcomer, actor));
    expect(await names(team)).toEqual(["Build Bot", "Max Member"]);
  });
});

describe("adding a member to a private channel", () => {
  test.each([
    ["a bot in it", () => bot],
    ["a human in it", () => member],
    ["an admin who is not", () => admin],
    ["the owner who is not", () => owner],
  ])("is done by %s, answers with the user and leaves a notice", async (_who, clientOf) => {
    const { status, json } = await add(clientOf(), team, newcomer);
    expect([status, json as unknown]).toEqual([
      201,
      { data: { id: newcomer.id, name: "Nora Newcomer", type: "human" } },
    ]);
    expect(await names(team)).toContain("Nora Newcomer");
    expect(await newest(team)).toMatchObject({
      type: "member_joined",
      body: "",
      author: { id: newcomer.id, name: "Nora Newcomer", type: "human" },
      reactions: [],
      edited_at: null,
      reply_to_id: null,
      thread_root_id: null,
    });
  });

  test("lets the new member in with the next request", async () => {
    const client = await stage.as(newcomer);
    expect((await client.get(`/channels/${team.id}/messages`)).status).toBe(404);
    await add(bot, team, newcomer);
    expect((await client.get(`/channels/${team.id}/messages`)).status).toBe(200);
    expect((await client.post(`/channels/${team.id}/messages`, { body: "hello" })).status).toBe(201);
  });

  test("takes bots as members, and the user's id in capitals", async () => {
    const { status } = await add(member, team, { id: stage.cast.idleBot.id.toUpperCase() });
    expect(status).toBe(201);
    expect(await names(team)).toContain("Idle Bot");
  });

  test("is refused with 422 on user_id for nobody, somebody gone, of another team or in it already", async () => {
    const { cast, workspace } = stage;
    const gone = await workspace.person(cast.teamId, "Gone");
    await workspace.database.write((tx) => deactivate(tx, gone, actor));
    for (const user of [
      { id: Bun.randomUUIDv7() },
      gone,
      cast.outsider,
      cast.bot,
      cast.member,
      { id: "Nora" },
    ]) {
      const { status, json } = await add(member, team, user);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["user_id"]]);
    }
    for (const body of [{}, { user_id: null }, { user_id: 5 }, { user: newcomer.id }]) {
      const { status, json } = await member.post(`/channels/${team.id}/members`, body);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["user_id"]]);
    }
    expect(await names(team)).toEqual(["Build Bot", "Max Member"]);
  });

  test("happens once when twenty ask for it at once, with one notice", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => add(bot, team, newcomer)));
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect([statuses.get(201)?.length, statuses.get(422)?.length]).toEqual([1, 19]);
    const { json } = await member.get<{ data: Message[] }>(`/channels/${team.id}/messages`);
    const notices = json.data.filter(({ author }) => author.id === newcomer.id);
    expect(notices).toHaveLength(1);
  });
});

describe("removing a member from a private channel", () => {
  test.each([
    ["a bot in it", () => bot],
    ["a human in it", () => member],
    ["an admin who is not", () => admin],
  ])("is done by %s and leaves a notice", async (_who, clientOf) => {
    await stage.workspace.join(team, newcomer);
    expect((await remove(clientOf(), team, newcomer)).status).toBe(204);
    expect(await names(team)).not.toContain("Nora Newcomer");
    expect(await newest(team)).toMatchObject({ type: "member_left", body: "", author: { id: newcomer.id } });
  });

  test("may be of oneself, after which a bot and a human do not see the channel any more", async () => {
    await stage.workspace.join(team, newcomer);
    const client = await stage.as(newcomer);
    expect((await remove(client, team, newcomer)).status).toBe(204);
    expect((await client.get(`/channels/${team.id}`)).status).toBe(404);
    expect((await remove(bot, team, stage.cast.bot)).status).toBe(204);
    expect((await bot.get(`/channels/${team.id}`)).status).toBe(404);
  });

  test("returns 404 for a user who is not in it, also the second time", async () => {
    expect((await remove(member, team, newcomer)).status).toBe(404);
    expect((await remove(member, team, stage.cast.outsider)).status).toBe(404);
    expect((await remove(member, team, { id: Bun.randomUUIDv7() })).status).toBe(404);
    await stage.workspace.join(team, newcomer);
    expect((await remove(member, team, newcomer)).status).toBe(204);
    expect((await remove(member, team, newcomer)).status).toBe(404);
  });
});

describe("members do not change", () => {
  test("in public channels, the general one too, whoever asks", async () => {
    const { cast, workspace } = stage;
    await workspace.join(cast.open, newcomer);
    for (const client of [bot, member, admin, owner, stranger]) {
      expect((await add(client, cast.open, cast.stranger)).status).toBe(403);
      expect((await remove(client, cast.open, newcomer)).status).toBe(403);
    }
    expect((await add(owner, cast.general, newcomer)).status).toBe(403);
    expect((await remove(owner, cast.general, cast.owner)).status).toBe(403);
  });

  test("in direct messages", async () => {
    const { cast } = stage;
    for (const client of [member, owner]) {
      expect((await add(client, cast.direct, newcomer)).status).toBe(403);
      expect((await remove(client, cast.direct, cast.owner)).status).toBe(403);
    }
    for (const client of [bot, admin]) expect((await add(client, cast.direct, newcomer)).status).toBe(404);
  });

  test("in a channel that is archived", async () => {
    await stage.workspace.archive(team);
    for (const client of [bot, member, admin]) {
      expect((await add(client, team, newcomer)).status).toBe(403);
      expect((await remove(client, team, stage.cast.bot)).status).toBe(403);
    }
  });

  test("by those who do not see the private channel", async () => {
    const outsider = await stage.as(stage.cast.outsider);
    for (const client of [stranger, outsider, await stage.as(stage.cast.idleBot)]) {
      expect((await add(client, team, newcomer)).status).toBe(404);
      expect((await remove(client, team, stage.cast.bot)).status).toBe(404);
    }
  });
});

describe("a notice", () => {
  test("cannot be edited, deleted or reacted to, not even by the one it is about", async () => {
    await add(member, team, newcomer);
    const notice = await newest(team);
    const address = `/channels/${team.id}/messages/${notice?.id}`;
    for (const client of [await stage.as(newcomer), member]) {
      expect((await client.patch(address, { body: "x" })).status).toBe(403);
      expect((await client.del(address)).status).toBe(403);
      const { status, json } = await client.put(`${address}/reactions/%F0%9F%91%8D`);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["emoji"]]);
      expect((await client.del(`${address}/reactions/%F0%9F%91%8D`)).status).toBe(204);
    }
    expect((await member.get<{ data: Message }>(address)).json.data).toEqual(notice as Message);
  });
});
