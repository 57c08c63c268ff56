import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { setArchived } from "../../src/channels/channels.ts";
import type { Channel } from "../../src/channels/schemas.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;

beforeAll(async () => {
  stage = await startStage();
  bot = await stage.as(stage.cast.bot);
  member = await stage.as(stage.cast.member);
});

afterAll(() => stage[Symbol.asyncDispose]());

/** A private channel of the bot's making, with the member in it and one message of the bot with its reaction. */
async function channelWithMessage(): Promise<{ channel: ChannelRow; messages: string; message: string }> {
  const { cast, workspace } = stage;
  const channel = await workspace.channel(cast.bot, `to archive ${Bun.randomUUIDv7()}`, "private");
  await workspace.join(channel, cast.member);
  const messages = `/channels/${channel.id}/messages`;
  const { json } = await bot.post<{ data: Message }>(messages, { body: "hello" });
  await bot.put(`${messages}/${json.data.id}/reactions/%F0%9F%91%8D`);
  return { channel, messages, message: `${messages}/${json.data.id}` };
}

/** Every way to change the channel as one of its members, by what it is called. */
function changes(client: ApiClient, channel: ChannelRow, messages: string, message: string) {
  const members = `/channels/${channel.id}/members`;
  return [
    () => client.post(messages, { body: "one more" }),
    () => client.patch(message, { body: "changed" }),
    () => client.put(`${message}/reactions/%F0%9F%8E%89`),
    () => client.del(`${message}/reactions/%F0%9F%91%8D`),
    () => client.post(members, { user_id: stage.cast.stranger.id }),
    () => client.del(`${members}/${stage.cast.member.id}`),
    () => client.del(message),
  ];
}

describe("an archived channel", () => {
  test("is read-only as soon as archiving returns: every change is rejected with 403", async () => {
    const { channel, messages, message } = await channelWithMessage();
    const before = await bot.get(messages);
    expect((await bot.post(`/channels/${channel.id}/archive`)).status).toBe(200);
    for (const change of changes(bot, channel, messages, message)) expect((await change()).status).toBe(403);
    expect((await bot.get(messages)).text).toBe(before.text);
  });

  test("is reported before the body of the request is checked", async () => {
    const { channel, messages, message } = await channelWithMessage();
    await stage.workspace.archive(channel);
    expect((await bot.post(messages, "{")).status).toBe(403);
    expect((await bot.patch(message, { body: "" })).status).toBe(403);
    expect((await bot.put(`${message}/reactions/nonsense`)).status).toBe(403);
    expect((await bot.del(`${message}/reactions/nonsense`)).status).toBe(403);
    expect((await bot.post(`/channels/${channel.id}/members`, {})).status).toBe(403);
  });

  test("is still listed, shown and read, with is_archived", async () => {
    const { channel, messages, message } = await channelWithMessage();
    await stage.workspace.archive(channel);
    for (const client of [bot, member]) {
      const list = await client.get<{ data: Channel[] }>("/channels");
      expect(list.json.data.find(({ id }) => id === channel.id)?.is_archived).toBe(true);
      const shown = await client.get<{ data: Channel }>(`/channels/${channel.id}`);
      expect(shown.json.data.is_archived).toBe(true);
      expect((await client.get(messages)).status).toBe(200);
      expect((await client.get(message)).status).toBe(200);
      expect((await client.get(`/channels/${channel.id}/members`)).status).toBe(200);
    }
  });

  test("can be written to again once it is unarchived", async () => {
    const { channel, messages, message } = await channelWithMessage();
    await stage.workspace.archive(channel);
    await stage.workspace.database.write((tx) =>
      setArchived(tx, { ...channel, isArchived: true }, false, actor),
    );
    const statuses: number[] = [];
    for (const change of changes(bot, channel, messages, message)) statuses.push((await change()).status);
    expect(statuses).toEqual([201, 200, 204, 204, 201, 204, 204]);
  });

  test("leaves tombstones as they are: their authors are refused like everyone else", async () => {
    const { channel, message } = await channelWithMessage();
    await bot.del(message);
    await stage.workspace.archive(channel);
    expect((await bot.del(message)).status).toBe(403);
    expect((await bot.patch(message, { body: "x" })).status).toBe(404);
  });
});
