import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { appendMessage } from "../../src/messages/append.ts";
import type { Message, MessagePage } from "../../src/messages/schemas.ts";
import type { ApiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

let stage: Stage;
let member: ApiClient;
let channel: ChannelRow;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  member = await stage.as(stage.cast.member);
});

beforeEach(async () => {
  channel = await stage.workspace.channel(stage.cast.member, `pages ${Bun.randomUUIDv7()}`);
  messages = `/channels/${channel.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Fills the channel with messages called 1, 2, 3 … in one write. */
async function fill(count: number): Promise<void> {
  await stage.workspace.database.write(async (tx) => {
    for (let number = 1; number <= count; number++) {
      appendMessage(tx, channel, stage.cast.member, { type: "standard", body: String(number) });
    }
  });
}

async function page(query = ""): Promise<MessagePage> {
  const { status, json } = await member.get<MessagePage>(`${messages}${query}`);
  expect(status).toBe(200);
  return json;
}

/** The numbers from `first` down to `last`, as bodies. */
function countDown(first: number, last: number): string[] {
  return Array.from({ length: first - last + 1 }, (_, index) => String(first - index));
}

const address = (number: number) => `${stage.server.url}/api/v1${messages}?page=${number}`;

describe("the messages of a channel, newest first and 50 a page", () => {
  test("are one empty page where there are none", async () => {
    expect(await page()).toEqual({
      data: [],
      links: { first: address(1), last: address(1), prev: null, next: null },
      meta: {
        current_page: 1,
        from: null,
        last_page: 1,
        path: `${stage.server.url}/api/v1${messages}`,
        per_page: 50,
        to: null,
        total: 0,
      },
    });
  });

  test.each([
    [1, { first: 120, last: 71, prev: null, next: 2, from: 1, to: 50 }],
    [2, { first: 70, last: 21, prev: 1, next: 3, from: 51, to: 100 }],
    [3, { first: 20, last: 1, prev: 2, next: null, from: 101, to: 120 }],
  ] as const)("of 120 are on three pages; page %d", async (number, expected) => {
    await fill(120);
    const { data, links, meta } = await page(`?page=${number}`);
    expect(data.map(({ body }) => body)).toEqual(countDown(expected.first, expected.last));
    expect(links).toEqual({
      first: address(1),
      last: address(3),
      prev: expected.prev && address(expected.prev),
      next: expected.next && address(expected.next),
    });
    expect(meta).toMatchObject({ current_page: number, last_page: 3, per_page: 50, total: 120 });
    expect([meta.from, meta.to]).toEqual([expected.from, expected.to]);
  });

  test("are empty on a page beyond the last", async () => {
    await fill(60);
    for (const number of [3, 1_000_000, 999_999_999_999_999]) {
      const { data, links, meta } = await page(`?page=${number}`);
      expect(data).toEqual([]);
      expect(links).toMatchObject({ first: address(1), last: address(2), next: null });
      expect(meta).toMatchObject({ current_page: number, from: null, to: null, last_page: 2, total: 60 });
    }
  });

  test("fill the last page exactly", async () => {
    await fill(100);
    const { data, links, meta } = await page("?page=2");
    expect(data.map(({ body }) => body)).toEqual(countDown(50, 1));
    expect([links.next, meta.last_page, meta.to]).toEqual([null, 2, 100]);
  });

  test("are reached by following the links from page to page, each once", async () => {
    await fill(130);
    const { token } = await stage.workspace.token(stage.cast.member);
    const found: string[] = [];
    let next: string | null = `${stage.server.url}/api/v1${messages}`;
    while (next !== null) {
      const response = await fetch(next, { headers: { authorization: `Bearer ${token}` } });
      const { data, links } = (await response.json()) as MessagePage;
      found.push(...data.map(({ body }) => body));
      ({ next } = links);
    }
    expect(found).toEqual(countDown(130, 1));
  });

  test("include replies, notices and tombstones, each where it was written", async () => {
    const { cast, workspace } = stage;
    const post = async (input: object) => (await member.post<{ data: Message }>(messages, input)).json.data;
    const root = await post({ body: "root" });
    const reply = await post({ body: "reply", thread_root_id: root.id });
    await workspace.join(channel, cast.bot);
    const deleted = await post({ body: "deleted" });
    await member.del(`${messages}/${deleted.id}`);
    await workspace.leave(channel, cast.bot);
    const { data, meta } = await page();
    expect(data.map(({ type, body }) => [type, body])).toEqual([
      ["member_left", ""],
      ["standard", ""],
      ["member_joined", ""],
      ["standard", "reply"],
      ["standard", "root"],
    ]);
    expect(data[3]).toEqual(reply);
    expect(meta.total).toBe(5);
  });

  test.each(["0", "-1", "1.5", "x", "", "1e2", "%201", "9".repeat(30)])(
    "are refused as page %p",
    async (number) => {
      const { status, json } = await member.get(`${messages}?page=${number}`);
      expect([status, Object.keys(json.errors ?? {})]).toEqual([422, ["page"]]);
    },
  );

  test("are the first page with unknown parameters", async () => {
    await fill(2);
    const { data, meta } = await page("?per_page=1&order=asc&cursor=x");
    expect([data.length, meta.per_page, meta.current_page]).toEqual([2, 50, 1]);
  });
});

describe("positions", () => {
  test("are dense and in the order of the pages, however many post at once", async () => {
    const { cast, workspace } = stage;
    await workspace.join(channel, cast.bot);
    const bot = await stage.as(cast.bot);
    await Promise.all(
      Array.from({ length: 120 }, async (_, number) => {
        const client = number % 2 === 0 ? bot : member;
        // Every third one is refused, and must leave no gap.
        await client.post(messages, { body: number % 3 === 0 ? "" : `${number}` });
      }),
    );
    const { meta } = await page();
    expect(meta.total).toBe(81);
    const found = [...(await page("?page=1")).data, ...(await page("?page=2")).data];
    expect(found).toHaveLength(81);
    expect(new Set(found.map(({ id }) => id)).size).toBe(81);
    const times = found.map(({ created_at }) => created_at ?? "");
    expect(times).toEqual(times.toSorted().toReversed());
  });
});

test("links begin with PARLEY_BASE_URL where the operator has set it", async () => {
  await using proxied = await startStage({ PARLEY_BASE_URL: "https://chat.example/parley/" });
  const client = await proxied.as(proxied.cast.member);
  const { json } = await client.get<MessagePage>(`/channels/${proxied.cast.open.id}/messages`);
  const path = `https://chat.example/parley/api/v1/channels/${proxied.cast.open.id}/messages`;
  expect([json.links.first, json.meta.path]).toEqual([`${path}?page=1`, path]);
});
