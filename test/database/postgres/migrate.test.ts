import { expect, test } from "bun:test";
import { openConnections } from "../../../src/database/postgres/connections.ts";
import { joinServers, migratePostgres, requireKnownVersion } from "../../../src/database/postgres/migrate.ts";
import { postgresMigrations } from "../../../src/database/postgres/migrations.ts";
import { freshDatabase } from "../../support/postgres.ts";

const first = { name: "0001_first", sql: "CREATE TABLE a (id integer); INSERT INTO a VALUES (1)" };
const second = { name: "0002_second", sql: "INSERT INTO a SELECT id + 1 FROM a; SELECT pg_sleep(0.05)" };

/** A database and connections to it, as many as there are nodes. */
async function stage(nodes: number) {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await freshDatabase());
  const all = Array.from({ length: nodes }, () => openConnections(url, { max: 2 }));
  for (const connections of all) stack.defer(() => connections.close());
  const [node = openConnections(url)] = all;
  return { nodes: all, node, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("nodes that start at once apply each migration once", async () => {
  await using stage8 = await stage(8);
  const migrations = [first, second];
  const applied = await Promise.all(stage8.nodes.map((node) => migratePostgres(node, { migrations })));
  expect(applied.flat().toSorted()).toEqual(["0001_first", "0002_second"]);
  const { rows } = await stage8.node.query("SELECT id FROM a ORDER BY id");
  expect(rows).toEqual([[1], [2]]);
});

test("the shipped migrations make the tables, and nothing the second time", async () => {
  await using stage1 = await stage(1);
  const names = postgresMigrations.map(({ name }) => name);
  expect(await migratePostgres(stage1.node)).toEqual(names);
  expect(await migratePostgres(stage1.node)).toEqual([]);
  expect((await stage1.node.query("SELECT id FROM workspace_stamp")).rows).toEqual([[1]]);
});

test("a migration that fails leaves nothing, and those before it", async () => {
  await using stage1 = await stage(1);
  const broken = { name: "0002_broken", sql: "CREATE TABLE b (id integer); SELECT 1 / 0" };
  const failed = migratePostgres(stage1.node, { migrations: [first, broken] });
  expect(await failed.catch((error: unknown) => error)).toMatchObject({ errno: "22012" });
  const { rows } = await stage1.node.query("SELECT to_regclass('a') IS NULL, to_regclass('b') IS NULL");
  expect(rows).toEqual([[0, 1]]);
  const seen: string[] = [];
  await migratePostgres(stage1.node, { migrations: [first, second], onMigration: (name) => seen.push(name) });
  expect(seen).toEqual(["0002_second"]);
});

test("data of a newer version is refused, at the start and while serving", async () => {
  await using stage2 = await stage(2);
  await migratePostgres(stage2.node, { migrations: [first, second] });
  const tooNew = { code: "data_too_new", message: expect.stringContaining("0002_second") };
  expect(await failure(migratePostgres(stage2.node, { migrations: [first] }))).toMatchObject(tooNew);
  expect(await failure(requireKnownVersion(stage2.node.query, [first]))).toMatchObject(tooNew);
  const session = await stage2.node.session();
  expect(await failure(joinServers(session, [first]))).toMatchObject(tooNew);
  session.close();
});

test("tables are not changed while an older server uses them, and are when it has ended", async () => {
  await using stage3 = await stage(3);
  const [old, other, newer = stage3.node] = stage3.nodes;
  await migratePostgres(stage3.node, { migrations: [first] });
  const sessions = await Promise.all([old, other].map((node) => (node ?? stage3.node).session()));
  for (const session of sessions) await joinServers(session, [first]);
  const migrations = [first, second];
  expect(await failure(migratePostgres(newer, { migrations, waitMs: 0 }))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("2 older servers still use"),
  });
  expect(await migratePostgres(newer, { migrations: [first], waitMs: 0 })).toEqual([]);
  for (const session of sessions) session.close();
  expect(await migratePostgres(newer, { migrations })).toEqual(["0002_second"]);
});

/** The error that the promise rejects with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
