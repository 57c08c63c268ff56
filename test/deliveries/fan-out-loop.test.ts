import { expect, test } from "bun:test";
import type { Database } from "../../src/database/database.ts";
import { FanOutLoop } from "../../src/deliveries/fan-out-loop.ts";
import { createLog } from "../../src/log/log.ts";
import { appendMessage } from "../../src/messages/append.ts";
import { editMessage } from "../../src/messages/messages.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { subjectOf } from "../../src/users/users.ts";
import { refuseInserts } from "../support/tampering.ts";
import { columnOf, countOf, rowsOf } from "../support/data.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";
import { subscribeOften } from "../outbox/many-subscriptions.ts";

const many = 1_000;
const receiver = { url: "http://127.0.0.1:1/" };

/** A workspace in this process, with teams that have a thousand subscriptions each and one that has none, and its loop. */
async function startLoop({ teams = 1, wrap = (database: Database) => database } = {}) {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const vault = new Vault(findKey(folder.path, ""));
  const large: Array<Awaited<ReturnType<typeof workspace.team>>> = [];
  for (let nth = 1; nth <= teams; nth++) {
    const team = await workspace.team(`Large ${nth}`);
    await subscribeOften({ database, vault, team }, receiver, many);
    large.push(team);
  }
  const logged: string[] = [];
  const log = createLog("info", { write: (line) => void logged.push(line) });
  const loop = new FanOutLoop(wrap(database), log);
  const perTeam = `SELECT teams.slug, count(jobs.event_seq) AS jobs FROM teams
    LEFT JOIN subscriptions ON subscriptions.team_id = teams.id
    LEFT JOIN jobs ON jobs.subscription_id = subscriptions.id GROUP BY teams.id ORDER BY teams.slug`;
  return {
    loop,
    workspace,
    vault,
    dataDir: folder.path,
    large,
    small: await workspace.team("Small"),
    post: (team: (typeof large)[number], body?: string) => workspace.message(team.general, team.owner, body),
    /** How many jobs each team has, as another process sees it. */
    jobs: async () => {
      const rows = await rowsOf<{ slug: string; jobs: number }>(folder.path, perTeam);
      return Object.fromEntries(rows.map(({ slug, jobs }) => [slug, jobs]));
    },
    count: (msg: string) => logged.filter((line) => line.includes(`"msg":"${msg}"`)).length,
    async [Symbol.asyncDispose]() {
      await loop.stop();
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test("another team's posts are committed between the writes that queue an event for a thousand subscriptions", async () => {
  await using stage = await startLoop();
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  await stage.post(large);
  const seen = new Set<number>();
  for (let jobs = 0; jobs < many; jobs = (await stage.jobs())["large-1"] ?? 0) {
    await stage.post(stage.small);
    seen.add(jobs);
  }
  // Not all between two writes, nor none until all of it is queued.
  expect(seen.size).toBeGreaterThan(3);
  const sizes = [...seen].toSorted((one, other) => one - other);
  expect(Math.max(...sizes.slice(1).map((size, nth) => size - (sizes[nth] ?? 0)))).toBeLessThan(many / 2);
});

test("teams take turns: an event of one team is queued while ten of another wait", async () => {
  await using stage = await startLoop({ teams: 2 });
  const [first, second] = stage.large;
  if (!first || !second) throw new Error("there are no teams");
  for (let nth = 0; nth < 10; nth++) await stage.post(first, `message ${nth}`);
  await stage.post(second);
  await until("the one event is queued for all", async () => (await stage.jobs())["large-2"] === many);
  expect((await stage.jobs())["large-1"]).toBeLessThan(5 * many);
});

test("a team's events with few subscriptions are queued 25 to a write, after one with hundreds", async () => {
  let writes = 0;
  const counting = (database: Database): Database => ({
    ...database,
    write: (change) => {
      writes++;
      return database.write(change);
    },
  });
  await using stage = await startLoop();
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  const { vault, workspace } = stage;
  const { database } = workspace;
  await subscribeOften({ database, vault, team: large }, receiver, 1, { events: ["message.updated"] });
  const owner = subjectOf(large.owner);
  await stage.loop.stop();
  const { id } = await stage.post(large, "said");
  const edits = Array.from({ length: 300 }, (_, nth) =>
    database.write((tx) => editMessage(tx, owner, large.general.id, id, { body: `said ${nth}` })),
  );
  await Promise.all(edits);
  const loop = new FanOutLoop(counting(database), createLog("silent"));
  loop.wake();
  await until("the events are done with", async () => (await countOf(stage.dataDir, "fan_outs")) === 0);
  expect((await stage.jobs())["large-1"]).toBe(many + 300);
  await loop.stop();
  // 40 for the message and 12 for what was edited.
  expect(writes).toBeWithin(52, 55);
});

test("a write that had to wait for long is still followed by a short rest", async () => {
  const rests: number[] = [];
  let endedAt = 0;
  const slow = (database: Database): Database => ({
    ...database,
    write: async (change) => {
      if (endedAt > 0) rests.push(performance.now() - endedAt);
      await Bun.sleep(300);
      const result = await database.write(change);
      endedAt = performance.now();
      return result;
    },
  });
  await using stage = await startLoop({ wrap: slow });
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  await stage.post(large);
  await until("some are queued", () => rests.length >= 3, { timeout_ms: 10_000 });
  expect(Math.min(...rests)).toBeLessThan(300);
});

test("a stop resolves after the write in progress, and the next start continues from there", async () => {
  await using stage = await startLoop();
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  await stage.post(large);
  await until("some are queued", async () => ((await stage.jobs())["large-1"] ?? 0) > 0);
  await stage.loop.stop();
  const left = (await stage.jobs())["large-1"] ?? 0;
  expect(left).toBeWithin(1, many);
  await stage.post(stage.small);
  stage.loop.wake();
  expect((await stage.jobs())["large-1"]).toBe(left);

  const next = new FanOutLoop(stage.workspace.database, createLog("silent"));
  next.wake();
  await until("all are queued", async () => (await stage.jobs())["large-1"] === many);
  await next.stop();
  expect(await columnOf(stage.dataDir, "SELECT DISTINCT attempts FROM jobs")).toEqual([0]);
});

test("an event that cannot be queued because the disk is full is queued once there is room", async () => {
  await using stage = await startLoop();
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  const allowInserts = await refuseInserts(stage.dataDir, "jobs");
  await stage.post(large);
  await until("it is held up", () => stage.count("fan_out.held_up") > 0);
  expect((await stage.jobs())["large-1"]).toBe(0);
  await allowInserts();
  await until("the event is done with", async () => (await countOf(stage.dataDir, "fan_outs")) === 0);
  expect((await stage.jobs())["large-1"]).toBe(many);
});

test("an event is queued for all subscriptions even if another change in its commit is rolled back", async () => {
  await using stage = await startLoop();
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  const undone = stage.workspace.database.write((tx) => {
    appendMessage(tx, large.general, large.owner, { type: "standard", body: "never said" });
    throw new Error("changed my mind");
  });
  const [posted, failed] = await Promise.allSettled([stage.post(large, "said"), undone]);
  expect([posted.status, failed.status]).toEqual(["fulfilled", "rejected"]);
  await until("all are queued", async () => (await stage.jobs())["large-1"] === many);
  const [data = ""] = await columnOf<string>(stage.dataDir, "SELECT data FROM events");
  expect(JSON.parse(data)).toMatchObject({ body: "said" });
});

test("an event that is stored while the loop waits for the answer that there is none is queued", async () => {
  const gate = Promise.withResolvers<void>();
  let answers = 0;
  const late = (database: Database): Database => ({
    ...database,
    ask: async (question) => {
      const answer = await database.ask(question);
      if (++answers === 1) await gate.promise;
      return answer;
    },
  });
  await using stage = await startLoop({ wrap: late });
  const [large] = stage.large;
  if (!large) throw new Error("there is no team");
  stage.loop.wake();
  await until("the loop has asked", () => answers === 1);
  await stage.post(large);
  // The loop hears of a commit one turn after it.
  await new Promise((resolve) => setImmediate(resolve));
  await stage.workspace.database.write(() => {});
  gate.resolve();
  await until("all are queued", async () => (await stage.jobs())["large-1"] === many);
});

test("the loop does not query the database when there is nothing to queue in steps", async () => {
  let reads = 0;
  const counting = (database: Database): Database => ({
    ...database,
    ask: (question) => {
      reads++;
      return database.ask(question);
    },
  });
  await using stage = await startLoop({ wrap: counting });
  for (let nth = 0; nth < 5; nth++) await stage.post(stage.small);
  expect(reads).toBe(0);
});
