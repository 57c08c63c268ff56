import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { UserRow } from "../../src/users/store.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

const subjects = [
  "bot",
  "idleBot",
  "member",
  "stranger",
  "admin",
  "owner",
  "outsider",
  "outsiderBot",
] as const;
const channels = ["open", "secret", "direct", "archived", "elsewhere"] as const;
type Subject = (typeof subjects)[number];
type Statuses = Record<Subject, readonly [number, number, number, number, number]>;

/** Nobody of the one team finds anything of the other, and a bot that is in no channel finds none. */
const nobody = [404, 404, 404, 404, 404] as const;
const others = { idleBot: nobody, outsiderBot: nobody };

/** What each subject gets in the channels `open`, `secret`, `direct`, `archived` and `elsewhere`. */
const reading: Statuses = {
  ...others,
  bot: [200, 200, 404, 200, 404],
  member: [200, 200, 200, 200, 404],
  stranger: [200, 404, 404, 200, 404],
  admin: [200, 404, 404, 200, 404],
  owner: [200, 404, 200, 200, 404],
  outsider: [404, 404, 404, 404, 200],
};

/** Reading who is in a channel belongs to managing it: team admins may, but not in the direct messages of others. */
const listingMembers: Statuses = {
  ...reading,
  admin: [200, 200, 404, 200, 404],
  owner: [200, 200, 200, 200, 404],
};

const writing = (success: number): Statuses => ({
  ...others,
  bot: [success, success, 404, 403, 404],
  member: [success, success, success, 403, 404],
  stranger: [403, 404, 404, 403, 404],
  admin: [403, 404, 404, 403, 404],
  owner: [403, 404, success, 403, 404],
  outsider: [404, 404, 404, 404, success],
});

/** Of a message that the bot wrote. */
const changing = (success: number): Statuses => ({
  ...others,
  bot: [success, success, 404, 403, 404],
  member: [403, 403, 403, 403, 404],
  stranger: [403, 404, 404, 403, 404],
  admin: [403, 404, 404, 403, 404],
  owner: [403, 404, 403, 403, 404],
  outsider: [404, 404, 404, 404, 403],
});

const routes: Array<[method: string, path: string, body: object | undefined, expected: Statuses]> = [
  ["GET", "", undefined, reading],
  ["GET", "/messages", undefined, reading],
  ["GET", "/messages/{message}", undefined, reading],
  ["GET", "/members", undefined, listingMembers],
  ["POST", "/messages", { body: "hello" }, writing(201)],
  ["PUT", "/messages/{message}/reactions/%F0%9F%91%8D", undefined, writing(204)],
  ["DELETE", "/messages/{message}/reactions/%F0%9F%91%8D", undefined, writing(204)],
  ["PATCH", "/messages/{message}", { body: "goodbye" }, changing(200)],
  ["DELETE", "/messages/{message}", undefined, changing(204)],
];

let stage: Stage;
let clients: Record<Subject, ApiClient>;

beforeAll(async () => {
  stage = await startStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "false" });
  const entries = subjects.map(async (name) => [name, await stage.as(stage.cast[name])] as const);
  clients = Object.fromEntries(await Promise.all(entries)) as typeof clients;
});

afterAll(() => stage[Symbol.asyncDispose]());

describe.each(routes)("%s /channels/{channel}%s", (method, path, body, expected) => {
  test.each(subjects)("responds to the %s by its memberships and role", async (subject) => {
    const { cast, workspace } = stage;
    const statuses: number[] = [];
    for (const name of channels) {
      const channel = cast[name];
      const { id } = await workspace.message(channel, cast.bot);
      const address = `/channels/${channel.id}${path.replace("{message}", id)}`;
      statuses.push((await clients[subject].send(method, address, body)).status);
    }
    expect(statuses).toEqual([...expected[subject]]);
  });
});

// Before the tests below make more channels.
describe("GET /channels", () => {
  const seen: Record<Subject, string[]> = {
    bot: ["archived", "open", "secret"],
    idleBot: [],
    member: ["Acme owner, Max Member", "archived", "general", "open", "secret"],
    stranger: ["archived", "general", "open"],
    admin: ["archived", "general", "open"],
    owner: ["Acme owner, Max Member", "archived", "general", "open"],
    outsider: ["elsewhere", "general"],
    outsiderBot: [],
  };

  test.each(subjects)("shows the %s the channels that it can see, ordered by name", async (subject) => {
    const { status, json } = await clients[subject].get<{ data: Channel[] }>("/channels");
    expect(status).toBe(200);
    expect(json.data.map(({ name }) => name)).toEqual(seen[subject]);
  });
});

const archiving: Statuses = {
  ...others,
  bot: [403, 403, 404, 403, 404],
  member: [200, 200, 403, 200, 404],
  stranger: [403, 404, 404, 403, 404],
  admin: [200, 200, 404, 200, 404],
  owner: [200, 200, 403, 200, 404],
  outsider: [404, 404, 404, 404, 200],
};

const managing = (success: number, ofOutsider: number): Statuses => ({
  ...others,
  bot: [403, success, 404, 403, 404],
  member: [403, success, 403, 403, 404],
  stranger: [403, 404, 404, 403, 404],
  admin: [403, success, 404, 403, 404],
  owner: [403, success, 403, 403, 404],
  outsider: [404, 404, 404, 404, ofOutsider],
});

/** What changes the channel itself, so that each subject has channels of its own for it. */
const changes: Array<[method: string, path: string, expected: Statuses]> = [
  ["POST", "/archive", archiving],
  // The newcomer is of the first team, whose people nobody can add elsewhere.
  ["POST", "/members", managing(201, 422)],
  ["DELETE", "/members/{user}", managing(204, 204)],
];

/** The channels as the cast has them, made anew where a request may change them, each with somebody to add or remove. */
async function freshChannels(method: string): Promise<Array<{ channel: ChannelRow; user: UserRow }>> {
  const { cast, workspace } = stage;
  const fresh = async (creator: UserRow, visibility: "public" | "private") =>
    await workspace.channel(creator, `fresh ${Bun.randomUUIDv7()}`, visibility);
  const [open, secret] = [await fresh(cast.member, "public"), await fresh(cast.member, "private")];
  const user = await workspace.person(cast.teamId, "Nora Newcomer");
  for (const channel of [open, secret]) {
    await workspace.join(channel, cast.bot);
    if (method === "DELETE") await workspace.join(channel, user);
  }
  const elsewhere = await fresh(cast.outsider, "private");
  return [
    { channel: open, user },
    { channel: secret, user },
    { channel: cast.direct, user: method === "DELETE" ? cast.owner : user },
    { channel: cast.archived, user: method === "DELETE" ? cast.bot : user },
    { channel: elsewhere, user: method === "DELETE" ? cast.outsider : user },
  ];
}

describe.each(changes)("%s /channels/{channel}%s", (method, path, expected) => {
  test.each(subjects)("responds to the %s by its memberships and role", async (subject) => {
    const statuses: number[] = [];
    for (const { channel, user } of await freshChannels(method)) {
      const address = `/channels/${channel.id}${path.replace("{user}", user.id)}`;
      const body = path === "/members" ? { user_id: user.id } : undefined;
      statuses.push((await clients[subject].send(method, address, body)).status);
    }
    expect(statuses).toEqual([...expected[subject]]);
  });
});

describe("a webhook subscription", () => {
  test("exists for every subject of its team, including bots without channels, and for nobody of another", async () => {
    const input = { name: "receiver", url: "http://127.0.0.1:9/", events: ["message.deleted"] };
    const created = await clients.bot.post<{ data: { id: string }; secret: string }>("/webhooks", input);
    expect(created.status).toBe(201);
    const address = `/webhooks/${created.json.data.id}`;
    for (const subject of ["idleBot", "member", "stranger", "admin", "owner"] as const) {
      const list = await clients[subject].get<{ data: Array<{ id: string }> }>("/webhooks");
      expect(list.json.data.map(({ id }) => id)).toEqual([created.json.data.id]);
      const shown = await clients[subject].get(address);
      expect([shown.status, shown.text.includes(created.json.secret)]).toEqual([200, false]);
    }
    for (const subject of ["outsider", "outsiderBot"] as const) {
      expect((await clients[subject].get("/webhooks")).json as unknown).toEqual({ data: [] });
      expect((await clients[subject].get(address)).status).toBe(404);
      expect((await clients[subject].del(address)).status).toBe(404);
    }
    expect((await clients.member.del(address)).status).toBe(204);
    expect((await clients.bot.get(address)).status).toBe(404);
  });
});
