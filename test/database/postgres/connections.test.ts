import { expect, test } from "bun:test";
import { type Connections, openConnections } from "../../../src/database/postgres/connections.ts";
import { until } from "../../support/conditions.ts";
import { freshDatabase, startPostgres } from "../../support/postgres.ts";

/** Connections that close at the end of the scope. */
function open(url: string, options?: Parameters<typeof openConnections>[1]): Connections & AsyncDisposable {
  const connections = openConnections(url, options);
  return { ...connections, [Symbol.asyncDispose]: () => connections.close() };
}

/** The error that the promise rejects with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("values come as SQLite has them", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url);
  const text =
    "SELECT 1::bigint, -2::integer, 1.5::float8, sum(3::bigint), true, NULL, 'é'::text, '\\x01ff'::bytea AS b";
  const { rows, columns, count } = await connections.query(text);
  expect(rows).toEqual([[1, -2, 1.5, 3, 1, null, "é", Buffer.from([1, 255])]]);
  expect(columns.at(-1)).toBe("b");
  expect(count).toBe(1);
});

test("parameters are what the statement takes them for", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url);
  await connections.query("CREATE TABLE t (id bigint, flag integer, name text, bytes bytea)");
  const insert = "INSERT INTO t VALUES ($1, $2, $3, $4)";
  for (const [id, flag] of [
    [1, true],
    [2 ** 52, false],
    [-3, undefined],
  ])
    expect(await connections.query(insert, [id, flag, `n${String(id)}`, new Uint8Array([7])])).toMatchObject({
      count: 1,
    });
  const { rows } = await connections.query(
    "SELECT id, flag, bytes FROM t WHERE id = ANY($1) ORDER BY id LIMIT $2",
    [[-3, 1, 2 ** 52], 9],
  );
  const bytes = Buffer.from([7]);
  expect(rows).toEqual([
    [-3, null, bytes],
    [1, 1, bytes],
    [2 ** 52, 0, bytes],
  ]);
  const names = ['"', "\\", "{}", "NULL", "", null, "a,b"];
  expect((await connections.query("SELECT * FROM unnest($1::text[])", [names])).rows.flat()).toEqual(names);
});

test("a statement that fails leaves its neighbours alone", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url);
  const results = await Promise.allSettled([
    connections.query("SELECT $1::integer", [1]),
    connections.query("SELECT 1 / $1::integer", [0]),
    connections.query("SELECT $1::integer", [2]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("a session keeps its transaction and its locks to itself, and others go on", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 2 });
  await connections.query("CREATE TABLE t (id integer)");
  const session = await connections.session();
  await session.query("BEGIN");
  await session.query("INSERT INTO t VALUES ($1)", [1]);
  await session.query("SELECT pg_advisory_lock(7)");
  expect((await connections.query("SELECT count(*) FROM t")).rows).toEqual([[0]]);
  expect((await connections.query("SELECT pg_try_advisory_lock(7)")).rows).toEqual([[0]]);
  await session.query("COMMIT");
  expect((await connections.query("SELECT count(*) FROM t")).rows).toEqual([[1]]);
  session.close();
  await until("the lock is free", async () => {
    return (await connections.query("SELECT pg_try_advisory_lock(7)")).rows[0]?.[0] === 1;
  });
});

test("what a session has not committed is undone when it is released", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 2 });
  await connections.query("CREATE TABLE t (id integer)");
  const session = await connections.session();
  await session.query("BEGIN");
  await session.query("INSERT INTO t VALUES (1)");
  session.release();
  const next = await connections.session();
  await next.query("BEGIN");
  await next.query("LOCK TABLE t");
  expect((await next.query("SELECT count(*) FROM t")).rows).toEqual([[0]]);
  await next.query("ROLLBACK");
  next.release();
});

test("sessions wait for one another, and one connection stays for queries", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 3 });
  const first = await connections.session();
  const second = await connections.session();
  const third = connections.session();
  expect((await connections.query("SELECT 1")).rows).toEqual([[1]]);
  const text =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'parley' AND datname = current_database()";
  expect((await connections.query(text)).rows).toEqual([[3]]);
  first.release();
  const taken = await third;
  expect((await taken.query("SELECT 2")).rows).toEqual([[2]]);
  taken.release();
  second.release();
});

test("a session that waits in vain is told so", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 2, tickMs: 100 });
  // Short ticks leave little time to connect.
  const session = await until("there is a session", () => connections.session().catch(() => undefined));
  expect(await failure(connections.session())).toMatchObject({ reason: "full" });
  session.release();
});

test("a connection that is cut fails what is under way, and the next query works", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 2 });
  await using other = open(database.url, { max: 2 });
  const [pid] = (await connections.query("SELECT pg_backend_pid()")).rows[0] ?? [];
  const failed = failure(connections.query("SELECT pg_sleep($1)", [9]));
  await until("it sleeps", async () => {
    const text = "SELECT state FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep%'";
    return (await other.query(text, [pid])).rows.flat().includes("active");
  });
  await other.query("SELECT pg_terminate_backend($1)", [pid]);
  expect(await failed).toMatchObject({ errno: "57P01" });
  expect((await connections.query("SELECT 1")).rows).toEqual([[1]]);
});

test("a session whose connection is cut says so, and is never continued on another", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url, { max: 3 });
  const session = await connections.session();
  let lost: unknown;
  session.onLost((error) => (lost = error));
  const [pid] = (await session.query("SELECT pg_backend_pid()")).rows[0] ?? [];
  await session.query("BEGIN");
  await connections.query("SELECT pg_terminate_backend($1)", [pid]);
  await until("the loss is noticed", () => lost !== undefined);
  for (let attempt = 0; attempt < 3; attempt++)
    expect(await failure(session.query("SELECT 1"))).toBeInstanceOf(Error);
  session.release();
  const next = await connections.session();
  expect((await next.query("SELECT 1")).rows).toEqual([[1]]);
  next.release();
});

test("a database that restarts is found again, and one that is gone is said at once", async () => {
  await using postgres = await startPostgres();
  await using connections = open(postgres.url("postgres"));
  expect((await connections.query("SELECT 1")).rows).toEqual([[1]]);
  await postgres.stop();
  const failed = await Promise.allSettled([connections.query("SELECT 1"), connections.session()]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await postgres.start();
  await until("queries work again", () =>
    connections.query("SELECT 1").then(
      () => true,
      () => false,
    ),
  );
});

test("a Unix socket is found by its folder", async () => {
  await using postgres = await startPostgres();
  const folder = encodeURIComponent(postgres.folder);
  for (const url of [
    `postgres://parley@${folder}:${postgres.port}/postgres`,
    `postgres://parley@/postgres?host=${folder}&port=${postgres.port}&sslmode=verify-full`,
  ]) {
    await using connections = open(url);
    expect((await connections.query("SELECT inet_client_addr() IS NULL")).rows).toEqual([[1]]);
  }
});

test("a listener hears again after its connection was cut, and is told to look up what it missed", async () => {
  await using database = await freshDatabase();
  await using connections = open(database.url);
  const heard: string[] = [];
  let times = 0;
  connections.listen(
    "news",
    (payload) => heard.push(payload),
    () => times++,
  );
  await until("it listens", () => times === 1);
  await connections.query("SELECT pg_notify('news', $1)", ["one"]);
  await until("it hears", () => heard.length === 1);
  await connections.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%'",
  );
  await until("it listens again", () => times === 2);
  await connections.query("SELECT pg_notify('news', $1)", ["two"]);
  await until("it hears", () => heard.length === 2);
  expect(heard).toEqual(["one", "two"]);
});

test("what is asked after the end is refused", async () => {
  await using database = await freshDatabase();
  const connections = openConnections(database.url);
  const last = connections.query("SELECT pg_sleep(0.1)");
  await connections.query("SELECT 1");
  await connections.close();
  expect((await last).count).toBe(1);
  expect(await failure(connections.query("SELECT 1"))).toMatchObject({ reason: "closed" });
});
