import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { addEmoji } from "../../src/emoji/emoji.ts";
import type { Message, MessagePage } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";
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

describe("the emoji in a path", () => {
  let reactions: string;
  beforeAll(async () => {
    const { workspace, cast } = stage;
    await workspace.database.write((tx) => addEmoji(tx, cast.teamId, { name: "wave" }, actor));
    const { id } = await workspace.message(cast.open, cast.member);
    reactions = `${messages}/${id}/reactions`;
  });

  test("is decoded once", async () => {
    for (const once of ["%F0%9F%91%8D", "%f0%9f%91%8d", "👍", ":wave:", "%3Awave%3A", ":%77ave:"]) {
      expect((await member.put(`${reactions}/${once}`)).status, once).toBe(204);
    }
    for (const twice of ["%25F0%259F%2591%258D", "%253Awave%253A"]) {
      expect((await member.put(`${reactions}/${twice}`)).status, twice).toBe(422);
    }
    const { json } = await member.get<{ data: Message }>(reactions.replace("/reactions", ""));
    expect(json.data.reactions).toEqual([
      { emoji: "👍", count: 1 },
      { emoji: ":wave:", count: 1 },
    ]);
  });

  test.each([
    ":WAVE:",
    ":wave",
    "wave",
    "::",
    ":wave::wave:",
    ":wave:%00",
    ":wave:%20",
    ":__proto__:",
    ":constructor:",
    ":wav%CC%81e:",
    ":%EF%BD%97ave:",
    ":%25:",
    ":%27%20OR%201=1--:",
    "%00",
    "%2f",
    "%F0%9F%91%8D%00",
    "%F0%9F%91%8D%2F..%2F",
    "%3Cscript%3E",
    "%F0%9F%91%8D".repeat(600),
  ])("is a known emoji or refused: %s", async (emoji) => {
    const { status, json } = await member.put(`${reactions}/${emoji}`);
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["emoji"]]);
    expect((await member.del(`${reactions}/${emoji}`)).status).toBe(204);
  });

  test.each(["%zz", "%", "%ff", "%ed%a0%bd%ed%b1%8d", "%f0%9f%91", "%f0%9f/%91%8d"])(
    "is valid UTF-8, or the path is 404: %s",
    async (emoji) => {
      expect((await member.put(`${reactions}/${emoji}`)).status).toBe(404);
      expect((await member.del(`${reactions}/${emoji}`)).status).toBe(404);
    },
  );
});

describe("a page", () => {
  test.each([
    "0x10",
    "0b1",
    "1_000",
    "1e1",
    "1e300",
    "1E1",
    "+1",
    "%2B1",
    "-0",
    "-1",
    "1.0",
    "1,2",
    "1;page=1",
    "%D9%A1",
    "%EF%BC%91",
    "%20",
    "1%20",
    "1%00",
    "1%0A",
    "%zz",
    "NaN",
    "Infinity",
    "null",
    "true",
    "[1]",
    "{}",
    String(2 ** 53),
    String(2n ** 63n),
    String(2n ** 64n + 1n),
    "9".repeat(5_000),
  ])("cannot be %p", async (page) => {
    const { status, json } = await member.get(`${messages}?page=${page}`);
    expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["page"]]);
  });

  test("beyond the last is empty", async () => {
    for (const page of ["1000000000", "999999999999999"]) {
      const { json } = await member.get<MessagePage>(`${messages}?page=${page}`);
      expect([json.data, json.meta.current_page]).toEqual([[], Number(page)]);
    }
  });

  test("that occurs twice is the last, and a list of pages is not a parameter", async () => {
    const currentPage = async (query: string) =>
      (await member.get<MessagePage>(`${messages}?${query}`)).json.meta.current_page;
    expect(await currentPage("page=3&page=2")).toBe(2);
    expect(await currentPage("p%61ge=2")).toBe(2);
    for (const query of [
      "page[]=2",
      "page[0]=2",
      "page%5B%5D=2",
      "PAGE=2",
      "__proto__[page]=2",
      "page.x=2",
    ]) {
      expect(await currentPage(query), query).toBe(1);
    }
  });
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
