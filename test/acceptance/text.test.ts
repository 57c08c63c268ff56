import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import { addEmoji } from "../../src/emoji/emoji.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

let stage: Stage;
let bot: ApiClient;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  bot = await stage.as(stage.cast.bot);
  messages = `/channels/${stage.cast.open.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

const post = (body: unknown) => bot.post<{ data: Message; errors?: object }>(messages, { body });
const create = (input: object) =>
  bot.post<{ data: Channel; errors?: object }>("/channels", { visibility: "public", ...input });

/** The letter or emoji so many times, with a beginning that no other text has. */
function textOf(character: string, codePoints: number): string {
  const beginning = Bun.randomUUIDv7();
  return beginning + character.repeat(codePoints - beginning.length);
}

/** Unicode's White_Space, every character of it. */
const whiteSpace =
  "\t\n\v\f\r \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000";

/** Characters of one to four bytes in UTF-8; the last one takes two units of UTF-16. */
const characters = ["a", "é", "語", "😀"];

describe.each(characters)("in characters like %s", (character) => {
  test("a channel's name has 255 at most, and so has its topic", async () => {
    const name = textOf(character, 255);
    const topic = textOf(character, 255);
    const { status, json } = await create({ name, topic });
    expect(status).toBe(201);
    expect(json.data).toMatchObject({ name, topic });

    const long = await create({ name: textOf(character, 256), topic: textOf(character, 256) });
    expect(long.status).toBe(422);
    expect(Object.keys(long.json.errors ?? {}).sort()).toEqual(["name", "topic"]);
  });

  test("a message has 8000 at most, posted or edited, without the white space around it", async () => {
    const body = textOf(character, 8_000);
    const posted = await post(`  ${body}\n\n`);
    expect([posted.status, posted.json.data.body === body]).toEqual([201, true]);
    const address = `${messages}/${posted.json.data.id}`;
    const edited = await bot.patch<{ data: Message }>(address, { body: `\u3000${body}\u3000` });
    expect([edited.status, edited.json.data.body === body]).toEqual([200, true]);

    for (const refused of [
      await post(body + character),
      await bot.patch(address, { body: body + character }),
    ]) {
      expect(refused.status).toBe(422);
      expect(Object.keys(refused.json.errors ?? {})).toEqual(["body"]);
    }
  });
});

describe("the white space around a message", () => {
  test("is dropped, whatever Unicode calls white space, and the one inside stays", async () => {
    for (const space of whiteSpace) {
      const { json } = await post(`${space}${space}a${space}b${space}`);
      expect(json.data.body).toBe(`a${space}b`);
    }
  });

  test("is nothing to send on its own", async () => {
    for (const body of ["", " ", whiteSpace, null, undefined]) {
      const { status, json } = await post(body);
      expect(status).toBe(422);
      expect(Object.keys(json.errors ?? {})).toEqual(["body"]);
    }
  });

  test("does not include characters that only look empty", async () => {
    expect((await post("\u200B")).json.data.body).toBe("\u200B");
    expect((await post("\uFEFFhello\u2060")).json.data.body).toBe("\uFEFFhello\u2060");
  });
});

describe("text is stored as it was sent", () => {
  test.each([
    ["markup", '<script>alert("x")</script> & *bold* _it_ `code`'],
    ["lines", "one\r\ntwo\n\n\tthree"],
    ["letters that could be composed otherwise", "cafe\u0301 Å ﬁ ①"],
    ["right-to-left text and marks", "שלום \u202Eabc\u202C مرحبا"],
    ["joined emoji", "👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽"],
    ["control characters", "\u0001\u001B[31mred\u007F"],
    ["characters beyond the basic plane", "𝒳𐍈\u{10FFFF}\uFFFE"],
    ["SQL", "'); DROP TABLE messages; --"],
    ["escapes", String.raw`\u0041 %41 &amp; \\ {"a":1}`],
  ])("as a message: %s", async (_what, body) => {
    const { status, json } = await post(body);
    expect(status).toBe(201);
    expect(json.data.body).toBe(body);
    const read = await bot.get<{ data: Message }>(`${messages}/${json.data.id}`);
    expect(read.json.data.body).toBe(body);
  });

  test("as the name and topic of a channel, with the white space around them", async () => {
    const input = { name: " cafe\u0301 ﬁrst ", topic: "  two\nlines\u0085" };
    const { json } = await create(input);
    expect(json.data).toMatchObject(input);
    const read = await bot.get<{ data: Channel }>(`/channels/${json.data.id}`);
    expect(read.json).toEqual({ data: json.data });
  });
});

describe("text that could not be shown again", () => {
  test.each([
    ["NUL", String.raw`a\u0000b`],
    ["the first half of a surrogate pair", String.raw`\ud83d`],
    ["the second half", String.raw`\ude00 x`],
    ["two halves in the wrong order", String.raw`\ude00\ud83d`],
  ])("is refused: %s", async (_what, escaped) => {
    const posted = await bot.post(messages, `{"body": "${escaped}"}`);
    const named = await bot.post(
      "/channels",
      `{"name": "x${escaped}", "topic": "${escaped}", "visibility": "public"}`,
    );
    expect([posted.status, named.status]).toEqual([422, 422]);
    expect(Object.keys(posted.json.errors ?? {})).toEqual(["body"]);
    expect(Object.keys(named.json.errors ?? {}).sort()).toEqual(["name", "topic"]);
  });

  test("is refused where the body is not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('{"body": "'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    const { status, json } = await bot.post(messages, new Uint8Array(bytes));
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["body"]]);
  });

  test.each([
    "",
    "hello",
    "{",
    "[]",
    "null",
    '"body"',
    "1",
    '{"body": "x"} {}',
    "{'body': 'x'}",
    '{"body": undefined}',
  ])("is refused where the body is no JSON object: %p", async (body) => {
    const { status, json } = await bot.post(messages, body);
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["body"]]);
  });

  test("is refused without any body at all", async () => {
    expect((await bot.post(messages)).status).toBe(422);
  });
});

describe("an emoji in the path", () => {
  test("has 32 characters at most: the longest shortcode there can be is taken, one longer is not", async () => {
    const { workspace, cast } = stage;
    const name = "x".repeat(30);
    await workspace.database.write((tx) => addEmoji(tx, cast.teamId, { name }, actor));
    const { id } = await workspace.message(cast.open, cast.member);
    const put = (emoji: string) => bot.put(`${messages}/${id}/reactions/${encodeURIComponent(emoji)}`);
    expect((await put(`:${name}:`)).status).toBe(204);
    for (const long of [`:${name}x:`, "😀".repeat(33), "x".repeat(2_000)]) {
      const { status, json } = await put(long);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["emoji"]]);
    }
  });
});
