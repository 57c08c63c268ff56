import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { expectNoFaults } from "./server-log.ts";

let stage: Stage;
let member: ApiClient;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  member = await stage.as(stage.cast.member);
  messages = `/channels/${stage.cast.open.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Posts a message with this body of the request. */
async function post(body: string | Uint8Array<ArrayBuffer>) {
  return await member.post<{ data: Message; errors?: Record<string, string[]> }>(messages, body);
}

/** The fields that the answer complains of. */
async function complaints(body: string | Uint8Array<ArrayBuffer>): Promise<string[]> {
  const { status, json } = await post(body);
  expect(status).toBe(422);
  return Object.keys(json.errors ?? {});
}

describe("JSON that nests", () => {
  test.each([
    ["lists without end", "[".repeat(1_000_000)],
    ["closed lists", "[".repeat(500_000) + "]".repeat(500_000)],
    ["objects", '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000)],
    ["a field of lists", `{"body": "x", "more": ${"[".repeat(32)}${"]".repeat(32)}}`],
  ])("deeper than 32 levels is refused: %s", async (_what, body) => {
    expect(await complaints(body)).toEqual(["body"]);
  });

  test("32 levels deep is read", async () => {
    const more = "[".repeat(31) + "]".repeat(31);
    expect((await post(`{"body": "x", "more": ${more}}`)).status).toBe(201);
  });

  test("is not confused by brackets inside strings", async () => {
    for (const text of ["[".repeat(5_000), "{[".repeat(2_500), '\\"[[['.repeat(500), "\\".repeat(1_000)]) {
      const { status, json } = await post(JSON.stringify({ body: text }));
      expect([status, json.data.body]).toEqual([201, text]);
    }
    expect(await complaints(String.raw`{"body": "\\", "more": ${"[".repeat(40)}${"]".repeat(40)}}`)).toEqual([
      "body",
    ]);
  });
});

describe("JSON of great size", () => {
  test("may have any number of fields; unknown ones are ignored", async () => {
    const fields = Array.from({ length: 90_000 }, (_, index) => `"${index}":0`).join(",");
    expect((await post(`{${fields},"body":"many fields"}`)).json.data.body).toBe("many fields");
  });

  test("may have numbers of any length, which are not strings", async () => {
    const number = "9".repeat(1_000_000);
    expect(await complaints(`{"body": ${number}}`)).toEqual(["body"]);
    expect((await post(`{"body": "x", "more": ${number}}`)).status).toBe(201);
  });

  test("that is wrong in a hundred thousand places gets a response with some of them", async () => {
    const subscriber = await stage.as(stage.cast.owner);
    const body = { name: "n", url: "https://example.com/", events: Array.from({ length: 100_000 }, () => 0) };
    const { status, text } = await subscriber.post("/webhooks", body);
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(50_000);
  });
});

describe("text that is almost JSON", () => {
  test.each([
    ["a trailing comma", '{"body": "x",}'],
    ["a comment", '{"body": "x"} // comment'],
    ["a comment of the other kind", '/* comment */ {"body": "x"}'],
    ["a second value", '{"body": "x"}{"body": "y"}'],
    ["a trailing NUL", '{"body": "x"}\0'],
    ["a byte order mark", '\uFEFF{"body": "x"}'],
    ["a no-break space around it", '\u00a0{"body": "x"}'],
    ["a line feed in a text", '{"body": "x\ny"}'],
    ["an unknown escape", String.raw`{"body": "\x41"}`],
    ["half of an escape", String.raw`{"body": "\u12"}`],
    ["NaN", '{"body": "x", "more": NaN}'],
    ["Infinity", '{"body": "x", "more": Infinity}'],
    ["a number in hex", '{"body": "x", "more": 0x10}'],
    ["a number with a plus", '{"body": "x", "more": +1}'],
    ["a number with leading zeros", '{"body": "x", "more": 01}'],
    ["keys without quotes", '{body: "x"}'],
    ["a body within a prefix against scripts", ')]}\',\n{"body": "x"}'],
  ])("is refused: %s", async (_what, body) => {
    expect(await complaints(body)).toEqual(["body"]);
  });
});

describe("bytes that are not UTF-8", () => {
  const inText = (...bytes: number[]) =>
    new Uint8Array([...Buffer.from('{"body": "x'), ...bytes, ...Buffer.from('"}')]);

  test.each([
    ["a continuation without a start", inText(0x80)],
    ["a start without a continuation", inText(0xe2, 0x82)],
    ["an overlong slash", inText(0xc0, 0xaf)],
    ["an overlong NUL", inText(0xc0, 0x80)],
    ["an overlong slash of three bytes", inText(0xe0, 0x80, 0xaf)],
    ["half of a surrogate pair", inText(0xed, 0xa0, 0xbd)],
    ["a surrogate pair, which CESU-8 would be", inText(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80)],
    ["a character beyond U+10FFFF", inText(0xf4, 0x90, 0x80, 0x80)],
    ["Latin-1", inText(0xe9)],
    ["UTF-16", new Uint8Array(Buffer.from('{"body": "x"}', "utf16le"))],
    ["UTF-16 with its mark", new Uint8Array(Buffer.from('\uFEFF{"body": "x"}', "utf16le"))],
    [
      "UTF-32",
      new Uint8Array(
        Buffer.from('{"body":"x"}')
          .toJSON()
          .data.flatMap((byte) => [byte, 0, 0, 0]),
      ),
    ],
    ["bytes of all kinds", new Uint8Array(Array.from({ length: 4096 }, (_, index) => (index * 167) % 256))],
  ])("are refused: %s", async (_what, body) => {
    expect(await complaints(body)).toEqual(["body"]);
  });
});

describe("a key", () => {
  test("that occurs twice means the last value, however it is escaped", async () => {
    expect((await post('{"body": "first", "body": "last"}')).json.data.body).toBe("last");
    expect((await post(String.raw`{"body": "first", "b\u006fdy": "last"}`)).json.data.body).toBe("last");
    expect(await complaints('{"body": "first", "body": null}')).toEqual(["body"]);
  });

  test.each(["Body", "body ", "BODY", "bod\u200by", "\ufeffbody", "b\u043edy"])(
    "must match to the letter: %p does not",
    async (key) => {
      expect(await complaints(JSON.stringify({ [key]: "x" }))).toEqual(["body"]);
    },
  );

  test.each([
    '{"__proto__": {"body": "x"}}',
    '{"constructor": {"prototype": {"body": "x"}}}',
    '{"prototype": {"body": "x"}}',
    '{"__proto__": null}',
    '{"hasOwnProperty": 1, "toString": null, "valueOf": 1}',
  ])("inherited from Object.prototype is not a field: %s", async (body) => {
    expect(await complaints(body)).toEqual(["body"]);
  });

  test("inherited from Object.prototype changes nothing in this request or the next", async () => {
    const attack =
      '{"body": "x", "__proto__": {"sent_to_channel": true, "username": "root"}, "hasOwnProperty": 1,' +
      ' "constructor": {"prototype": {"sent_to_channel": true, "polluted": 1}}, "toString": null, "then": {}}';
    for (const body of [attack, '{"body": "clean"}']) {
      const { status, text, json } = await post(body);
      expect(status).toBe(201);
      expect(json.data).toMatchObject({ sent_to_channel: false, username: null });
      expect(text).not.toContain("polluted");
    }
  });

  test("may hold half of a surrogate pair when it is ignored", async () => {
    expect((await post(String.raw`{"body": "x", "\ud800": "\udc00"}`)).status).toBe(201);
  });
});

describe("a value of another type", () => {
  test.each(["1", "-0", "1e400", "true", "{}", "[]", '["x"]', '{"toString": "x"}', '{"length": 1}'])(
    "is not accepted as a string: %s",
    async (value) => {
      expect(await complaints(`{"body": ${value}}`)).toEqual(["body"]);
      const channel = await member.post(
        "/channels",
        `{"name": ${value}, "visibility": "public", "topic": ${value}}`,
      );
      expect(Object.keys(channel.json.errors ?? {}).sort()).toEqual(["name", "topic"]);
    },
  );

  test.each(["1", "0", '"true"', "null", "[]"])("is not accepted as a boolean: %s", async (value) => {
    expect(await complaints(`{"body": "x", "sent_to_channel": ${value}}`)).toEqual(["sent_to_channel"]);
  });

  test.each(["1", '""', '"x"', "[]", "{}", "false", '"00000000-0000-0000-0000-00000000000g"'])(
    "is not accepted as a UUID: %s",
    async (value) => {
      const body = `{"body": "x", "client_uuid": ${value}, "reply_to_id": ${value}, "thread_root_id": ${value}}`;
      expect((await complaints(body)).sort()).toEqual(["client_uuid", "reply_to_id", "thread_root_id"]);
    },
  );

  test.each(['"Public"', '"public "', "null", "1", '["public"]', '"__proto__"', '"toString"', '"general"'])(
    "is not accepted as a visibility: %s",
    async (value) => {
      const { json } = await member.post("/channels", `{"name": "n", "visibility": ${value}}`);
      expect(Object.keys(json.errors ?? {})).toEqual(["visibility"]);
    },
  );
});

test("channels may have the names of inherited properties", async () => {
  for (const name of [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "then",
    "null",
    "undefined",
  ]) {
    const { status, json } = await member.post<{ data: Channel }>("/channels", {
      name,
      visibility: "public",
    });
    expect([status, json.data.name]).toEqual([201, name]);
    expect((await member.get<{ data: Channel }>(`/channels/${json.data.id}`)).json.data.name).toBe(name);
  }
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
