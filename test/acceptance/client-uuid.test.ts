import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { deleteMember } from "../../src/channels/member-store.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

type MessageData = { data: Message };

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;
let channel: ChannelRow;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  bot = await stage.as(stage.cast.bot);
  member = await stage.as(stage.cast.member);
});

beforeEach(async () => {
  const { cast, workspace } = stage;
  channel = await workspace.channel(cast.member, `resends ${Bun.randomUUIDv7()}`);
  await workspace.join(channel, cast.bot);
  messages = `/channels/${channel.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

async function bodies(): Promise<string[]> {
  const { json } = await member.get<{ data: Message[] }>(messages);
  return json.data.filter(({ type }) => type === "standard").map(({ body }) => body);
}

describe("a message that is sent again with the same client_uuid", () => {
  test("returns 201 with the first one, whatever else it contains", async () => {
    const client_uuid = crypto.randomUUID();
    const first = await bot.post<MessageData>(messages, { body: "first", client_uuid });
    const again = await bot.post<MessageData>(messages, {
      body: "second",
      client_uuid,
      sent_to_channel: true,
    });
    const inCapitals = { body: "third", client_uuid: client_uuid.toUpperCase() };
    const third = await bot.post<MessageData>(messages, inCapitals);
    expect([first.status, again.status, third.status]).toEqual([201, 201, 201]);
    expect([again.json, third.json]).toEqual([first.json, first.json]);
    expect(await bodies()).toEqual(["first"]);
  });

  test("returns the first one as it is now: edited, reacted to, deleted", async () => {
    const input = { body: "first", client_uuid: crypto.randomUUID() };
    const { json } = await bot.post<MessageData>(messages, input);
    const address = `${messages}/${json.data.id}`;
    const edited = await bot.patch<MessageData>(address, { body: "edited" });
    expect((await bot.post<MessageData>(messages, input)).json).toEqual(edited.json);
    await bot.del(address);
    const tombstone = await bot.post<MessageData>(messages, input);
    expect(tombstone.status).toBe(201);
    expect(tombstone.json.data).toMatchObject({ id: json.data.id, body: "" });
  });

  test("does not need its targets any more", async () => {
    const target = await bot.post<MessageData>(messages, { body: "target" });
    const input = { body: "reply", client_uuid: crypto.randomUUID(), reply_to_id: target.json.data.id };
    const first = await bot.post<MessageData>(messages, input);
    await bot.del(`${messages}/${target.json.data.id}`);
    expect((await bot.post<MessageData>(messages, input)).json).toEqual(first.json);
  });

  test("is another message from another author and in another channel", async () => {
    const input = { body: "hello", client_uuid: crypto.randomUUID() };
    const secret = `/channels/${stage.cast.secret.id}/messages`;
    const ids = [
      (await bot.post<MessageData>(messages, input)).json.data.id,
      (await member.post<MessageData>(messages, input)).json.data.id,
      (await bot.post<MessageData>(secret, input)).json.data.id,
    ];
    expect(new Set(ids).size).toBe(3);
  });

  test("is still refused where the author may not post, or with a body that is malformed", async () => {
    const input = { body: "hello", client_uuid: crypto.randomUUID() };
    await bot.post(messages, input);
    expect((await bot.post(messages, { ...input, body: "" })).status).toBe(422);
    await stage.workspace.archive(channel);
    expect((await bot.post(messages, input)).status).toBe(403);
    await stage.workspace.database.write(async (tx) => deleteMember(tx, channel.id, stage.cast.bot.id));
    expect((await bot.post(messages, input)).status).toBe(404);
  });

  test("200 times at once is one message, and all 200 requests return 201 with its id", async () => {
    const client_uuid = crypto.randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, number) =>
        bot.post<MessageData>(messages, { body: `${number}`, client_uuid }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await bodies()).toHaveLength(1);
    const after = await bot.post<MessageData>(messages, { body: "next" });
    expect(after.status).toBe(201);
    const { json } = await bot.get<{ meta: { total: number } }>(messages);
    // The bot's own arrival is the first message of the channel.
    expect(json.meta.total).toBe(3);
  });
});

test("messages without a client_uuid are separate messages, however alike", async () => {
  for (let time = 0; time < 3; time++) await bot.post(messages, { body: "same" });
  expect(await bodies()).toEqual(["same", "same", "same"]);
});
