import { expect, test } from "bun:test";
import { type Connections, openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import { VersionLook } from "../../src/database/postgres/version-look.ts";
import { SharedRateLimit } from "../../src/http/shared-rate-limit.ts";
import { freshDatabase } from "../support/postgres.ts";

test("of a hundred requests to three nodes at once exactly the limit is allowed", async () => {
  await using stage = await stageOfCounts();
  const nodes = [stage.node(60), stage.node(60), stage.node(60)];
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      // Over several turns, so that the nodes take turns too.
      await Bun.sleep(n % 7);
      return await nodes[n % 3]!.take("token");
    }),
  );
  const allowed = statuses.filter(({ isAllowed }) => isAllowed);
  expect(allowed.length).toBe(60);
  expect(allowed.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(
    Array.from({ length: 60 }, (_, n) => 59 - n),
  );
  for (const { isAllowed, remaining } of statuses) if (!isAllowed) expect(remaining).toBe(0);
  expect(new Set(statuses.map(({ resetsAt }) => resetsAt)).size).toBe(1);
});

test("each key has a window of its own, and so has each kind of limit", async () => {
  await using stage = await stageOfCounts();
  const api = stage.node(1);
  const ingest = stage.node(1, "ingest");
  const statuses = await Promise.all([api.take("a"), api.take("b"), ingest.take("a"), api.take("a")]);
  expect(statuses.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, false]);
});

test("while the database cannot be reached, requests hear of an outage and not of a fault", async () => {
  const nowhere = openConnections("postgres://parley@127.0.0.1:1/parley");
  const refused = new SharedRateLimit(sharedBy(nowhere), "api", 1)
    .take("token")
    .catch((error: unknown) => error);
  expect(await refused).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("The database cannot be reached."),
  });
  await nowhere.close();
});

test("the window ends sixty seconds after its first request", async () => {
  await using stage = await stageOfCounts();
  const node = stage.node(2);
  const before = Date.now();
  const first = await node.take("token");
  const after = Date.now();
  expect(first).toMatchObject({ isAllowed: true, limit: 2, remaining: 1 });
  expect(first.retryAfterSeconds).toBeLessThanOrEqual(60);
  expect(first.resetsAt).toBeGreaterThanOrEqual(Math.ceil((before + 60_000) / 1000));
  expect(first.resetsAt).toBeLessThanOrEqual(Math.ceil((after + 60_000) / 1000));

  await stage.passTime(30_000);
  await node.take("token");
  const third = await node.take("token");
  expect(third).toMatchObject({ isAllowed: false, remaining: 0 });
  expect(third.retryAfterSeconds).toBeLessThanOrEqual(30);
  await stage.passTime(31_000);
  expect(await node.take("token")).toMatchObject({ isAllowed: true, remaining: 1 });
});

test("a database whose clock is set back opens the window again instead of keeping it shut", async () => {
  await using stage = await stageOfCounts();
  const node = stage.node(1);
  await node.take("token");
  await stage.passTime(-3_600_000);
  expect(await node.take("token")).toMatchObject({ isAllowed: true });
  expect(await node.take("token")).toMatchObject({ isAllowed: false });
});

test("requests are refused, and not let through, while the database is away", async () => {
  await using stage = await stageOfCounts();
  const node = stage.node(1);
  await stage.close();
  const outcome = await node.take("token").catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(Error);
});

async function stageOfCounts() {
  const database = await freshDatabase();
  const opened = [openConnections(database.url)];
  const connections = opened[0]!;
  await migratePostgres(connections);
  const close = async () => {
    for (const each of opened.splice(0)) await each.close();
  };
  return {
    close,
    /** A node's counts, on connections of its own. */
    node(limit: number, name = "api"): SharedRateLimit {
      const own = openConnections(database.url, { max: 2 });
      opened.push(own);
      return new SharedRateLimit(sharedBy(own), name, limit);
    },
    /** Makes it that much later, as seen from the counts. */
    async passTime(ms: number): Promise<void> {
      await connections.query("UPDATE rate_counts SET ends_at = ends_at - $1", [ms]);
    },
    async [Symbol.asyncDispose]() {
      await close();
      await database[Symbol.asyncDispose]();
    },
  };
}

function sharedBy(connections: Connections) {
  return { connections, versionLook: new VersionLook(connections) };
}
