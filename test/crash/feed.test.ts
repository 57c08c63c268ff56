import { expect, test } from "bun:test";
import type { EventPage } from "../../src/feed/schemas.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { columnOf } from "../support/data.ts";
import { startStage } from "../support/stage.ts";
import type { TestServer } from "../support/server.ts";
import { pathOf } from "../feed/feed-reader.ts";
import { unlessInterrupted } from "./load.ts";
import { Random } from "./random.ts";

const kills = 6;
const postersCount = 16;
const readersCount = 5;

/** Reads a feed from its beginning, as a program does that keeps its cursor with what it has read. */
class FeedReader {
  /** The ids of the events, in the order in which they were read. */
  readonly read: string[] = [];
  /** How many pages were asked for and lost, as if this had crashed before it kept them. */
  lost = 0;
  #cursor: string | undefined;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Reads on, with pauses, until `isDone`. */
  async readUntil(isDone: () => boolean, server: TestServer, token: string, feed: { id: string }) {
    while (!isDone()) {
      const random = this.#random;
      const query = { after: this.#cursor, limit: random.between(1, 60), wait: random.between(0, 2) };
      const asked = apiClient(server.url, token).get<EventPage>(pathOf(feed, query));
      const answer = await unlessInterrupted(asked);
      if (!answer) continue;
      expect(answer.status, answer.text).toBe(200);
      const page = answer.json;
      if (random.fraction() < 0.1) {
        this.lost++;
        continue;
      }
      this.read.push(...page.data.map(({ event }) => event.id));
      this.#cursor = page.meta.next;
      // Stops for a while, and goes on.
      if (random.fraction() < 0.2) await Bun.sleep(random.between(1, 200));
    }
  }
}

/** Posts one message after another until the server is gone, and notes those that were acknowledged. */
async function postUntilTheEnd(client: ApiClient, path: string, acknowledged: string[]): Promise<void> {
  while (true) {
    const posted = await unlessInterrupted(client.post<{ data: Message }>(path, { body: "hello" }));
    if (!posted) return;
    expect(posted.status).toBe(201);
    acknowledged.push(posted.json.data.id);
  }
}

async function crashAgainAndAgain(random: Random): Promise<void> {
  await using stage = await startStage();
  const { cast, server, workspace } = stage;
  const { token } = await workspace.token(cast.bot);
  const created = await apiClient(server.url, token).post<{ data: { id: string } }>("/webhooks", {
    name: "archive",
    pull: true,
    events: ["message.created"],
  });
  const feed = created.json.data;
  const acknowledged: string[] = [];
  let all: string[] | undefined;
  const readers = Array.from(
    { length: readersCount },
    () => new FeedReader(new Random(random.between(0, 2 ** 31))),
  );
  const reading = Promise.all(
    readers.map((reader) =>
      reader.readUntil(() => all !== undefined && reader.read.length >= all.length, server, token, feed),
    ),
  );

  for (let kill = 0; kill < kills; kill++) {
    const before = acknowledged.length;
    const client = apiClient(server.url, token);
    const path = `/channels/${cast.open.id}/messages`;
    const posting = Promise.all(
      Array.from({ length: postersCount }, () => postUntilTheEnd(client, path, acknowledged)),
    );
    const wanted = random.between(100, 400);
    await until("there is enough to lose", () => acknowledged.length - before >= wanted);
    await server.kill9();
    await posting;
    await server.start();
  }

  // What was under way at the last crash may still be committed by a PostgreSQL, before this event.
  const last = await apiClient(server.url, token).post<{ data: Message }>(
    `/channels/${cast.open.id}/messages`,
    { body: "the last" },
  );
  acknowledged.push(last.json.data.id);
  all = await columnOf<string>(server.dataDir, "SELECT id FROM events ORDER BY seq");
  await reading;
  for (const { read } of readers) expect(read).toEqual(all);
  const about = await columnOf<string>(server.dataDir, "SELECT data FROM events ORDER BY seq");
  const stored = new Set(about.map((data) => (JSON.parse(data) as Message).id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  expect(stored.size).toBe(all.length);
}

test(`each of ${readersCount} readers has every event once and in order after ${kills} crashes under load`, async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  try {
    await crashAgainAndAgain(random);
  } catch (error) {
    throw new Error(`With the seed ${random.seed}: ${String(error)}`, { cause: error });
  }
}, 120_000);
