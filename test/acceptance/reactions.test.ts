import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { addEmoji, removeEmoji } from "../../src/emoji/emoji.ts";
import type { Message, ReactionSummary } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";

let stage: Stage;
let bot: ApiClient;
let member: ApiClient;
/** A new message of the bot in `open`. */
let message: string;

beforeAll(async () => {
  stage = await startStage();
  bot = await stage.as(stage.cast.bot);
  member = await stage.as(stage.cast.member);
});

beforeEach(async () => {
  const { id } = await stage.workspace.message(stage.cast.open, stage.cast.bot);
  message = `/channels/${stage.cast.open.id}/messages/${id}`;
});

afterAll(() => stage[Symbol.asyncDispose]());

const put = (client: ApiClient, emoji: string) =>
  client.put(`${message}/reactions/${encodeURIComponent(emoji)}`);
const del = (client: ApiClient, emoji: string) =>
  client.del(`${message}/reactions/${encodeURIComponent(emoji)}`);

async function reactions(): Promise<ReactionSummary[]> {
  const { json } = await bot.get<{ data: Message }>(message);
  return json.data.reactions;
}

describe("reactions", () => {
  test("are counted by emoji and ordered by when each emoji was first used on the message", async () => {
    expect(await reactions()).toEqual([]);
    await put(bot, "🚀");
    await put(member, "👍");
    await put(bot, "👍");
    await put(member, "🎉");
    await put(member, "🚀");
    expect(await reactions()).toEqual([
      { emoji: "🚀", count: 2 },
      { emoji: "👍", count: 2 },
      { emoji: "🎉", count: 1 },
    ]);
    const page = await bot.get<{ data: Message[] }>(`/channels/${stage.cast.open.id}/messages`);
    expect(page.json.data[0]?.reactions).toEqual(await reactions());
  });

  test("are one for each user and emoji: added again or removed again, nothing changes", async () => {
    for (let time = 0; time < 3; time++) expect((await put(bot, "👍")).status).toBe(204);
    expect(await reactions()).toEqual([{ emoji: "👍", count: 1 }]);
    for (let time = 0; time < 3; time++) expect((await del(bot, "👍")).status).toBe(204);
    expect(await reactions()).toEqual([]);
  });

  test("can only be removed by their author", async () => {
    await put(bot, "👍");
    await put(member, "👍");
    expect((await del(member, "👍")).status).toBe(204);
    expect((await del(member, "👍")).status).toBe(204);
    expect(await reactions()).toEqual([{ emoji: "👍", count: 1 }]);
  });

  test("come last again where the emoji had gone from the message", async () => {
    await put(bot, "👍");
    await put(bot, "🚀");
    await del(bot, "👍");
    await put(member, "👍");
    expect((await reactions()).map(({ emoji }) => emoji)).toEqual(["🚀", "👍"]);
  });

  test("that come at once are all counted, each once", async () => {
    const { cast, workspace } = stage;
    const clients = await Promise.all(
      Array.from({ length: 10 }, async (_, number) =>
        stage.as(await workspace.bot(cast.teamId, `Fan ${number}`, [cast.open])),
      ),
    );
    const answers = await Promise.all(clients.flatMap((client) => [put(client, "👏"), put(client, "👏")]));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect(await reactions()).toEqual([{ emoji: "👏", count: 10 }]);
  });

  test("are limited to fifty emoji on a message: others can still add to those, and removing one makes room", async () => {
    const emoji = Array.from({ length: 51 }, (_, number) => String.fromCodePoint(0x1f600 + number));
    const last = emoji.pop() ?? "";
    for (const one of emoji) expect((await put(bot, one)).status).toBe(204);
    const { status, json } = await put(member, last);
    expect(status).toBe(422);
    expect(json.errors).toEqual({ emoji: [expect.stringContaining("50 different emoji")] });
    expect((await put(bot, emoji[0] ?? "")).status).toBe(204);
    expect((await put(member, emoji[49] ?? "")).status).toBe(204);
    expect((await reactions()).at(-1)).toEqual({ emoji: emoji[49] ?? "", count: 2 });

    await del(bot, emoji[0] ?? "");
    expect((await put(member, last)).status).toBe(204);
    expect(await reactions()).toHaveLength(50);
  });

  test("leave edited_at alone", async () => {
    await put(member, "👍");
    const { json } = await bot.get<{ data: Message }>(message);
    expect(json.data.edited_at).toBeNull();
  });
});

describe("an emoji of Unicode", () => {
  test.each(["👍", "👍🏿", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "1️⃣", "🧑🏻‍🤝‍🧑🏿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"])("is taken as it is: %s", async (emoji) => {
    expect((await put(bot, emoji)).status).toBe(204);
    expect(await reactions()).toEqual([{ emoji, count: 1 }]);
    expect((await del(bot, emoji)).status).toBe(204);
    expect(await reactions()).toEqual([]);
  });

  test("is the same one with and without the mark that asks for its colours", async () => {
    await put(bot, "\u2764");
    await put(member, "\u2764\uFE0F");
    expect(await reactions()).toEqual([{ emoji: "\u2764\uFE0F", count: 2 }]);
    await del(bot, "\u2764\uFE0F");
    await del(member, "\u2764");
    expect(await reactions()).toEqual([]);
  });

  test("is another one with another skin tone", async () => {
    await put(bot, "👍");
    await put(bot, "👍🏽");
    expect((await reactions()).map(({ emoji }) => emoji)).toEqual(["👍", "👍🏽"]);
  });

  test.each(["a", "1", "👍👍", "👍 ", " ", "thumbsup", "+1", "<b>", "🇩", "\u200D", "👍🏽🏽"])(
    "is not what was sent, which is refused on emoji: %p",
    async (text) => {
      const { status, json } = await put(bot, text);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["emoji"]]);
      expect((await del(bot, text)).status).toBe(204);
    },
  );
});

describe("an emoji of the workspace", () => {
  test("is taken by its shortcode while it is there, and its reactions outlive it", async () => {
    const { cast, workspace } = stage;
    expect((await put(bot, ":party_parrot:")).status).toBe(422);
    await workspace.database.write((tx) => addEmoji(tx, cast.teamId, { name: "party_parrot" }, actor));
    expect((await put(bot, ":party_parrot:")).status).toBe(204);
    expect((await put(member, ":party_parrot:")).status).toBe(204);

    await workspace.database.write((tx) => removeEmoji(tx, cast.teamId, "party_parrot", actor));
    expect((await put(bot, ":party_parrot:")).status).toBe(422);
    expect(await reactions()).toEqual([{ emoji: ":party_parrot:", count: 2 }]);
    expect((await del(bot, ":party_parrot:")).status).toBe(204);
    expect(await reactions()).toEqual([{ emoji: ":party_parrot:", count: 1 }]);
  });

  test("is not the one of another team, nor a name without its colons", async () => {
    const { cast, workspace } = stage;
    await workspace.database.write((tx) => addEmoji(tx, cast.otherTeamId, { name: "umbrella" }, actor));
    await workspace.database.write((tx) => addEmoji(tx, cast.teamId, { name: "acme" }, actor));
    for (const text of [":umbrella:", "acme", ":acme", "acme:", "::acme::", ":ACME:", "::"]) {
      expect((await put(bot, text)).status, text).toBe(422);
    }
  });
});
