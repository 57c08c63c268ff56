import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Connections, openConnections } from "../../../src/database/postgres/connections.ts";
import { isOutcomeUnknown } from "../../../src/database/postgres/errors.ts";
import { until } from "../../support/conditions.ts";
import { freshDatabase } from "../../support/postgres.ts";

// The driver's history has stalls and answers that came to another query (oven-sh/bun#32004, #33985, #30494, #30947).

let database: Awaited<ReturnType<typeof freshDatabase>>;
let connections: Connections;
beforeAll(async () => {
  database = await freshDatabase();
  connections = openConnections(database.url, { max: 4 });
  await connections.query("CREATE TABLE t (id integer PRIMARY KEY, name text, bytes bytea)");
});
afterAll(async () => {
  await connections.close();
  await database[Symbol.asyncDispose]();
});

/** Operations that each answer with something that only the one with this number can have asked. */
const operations: ReadonlyArray<(id: number) => Promise<void>> = [
  async (id) => {
    const { rows } = await connections.query("SELECT $1::bigint, $2::text", [id, `é${id}`]);
    expect(rows).toEqual([[id, `é${id}`]]);
  },
  async (id) => {
    // Two columns or three, and of other types, so that an answer that is read as another's does not fit.
    const { rows } = await connections.query("SELECT $1::text, $2::bytea, $3::float8", [
      `${id}`,
      Buffer.from(`${id}`),
      id + 0.5,
    ]);
    expect(rows).toEqual([[`${id}`, Buffer.from(`${id}`), id + 0.5]]);
  },
  async (id) => {
    const { rows } = await connections.query("SELECT n FROM generate_series($1::integer, $2::integer) AS n", [
      id,
      id + 49,
    ]);
    expect(rows.length).toBe(50);
    expect(rows[0]).toEqual([id]);
    expect(rows[49]).toEqual([id + 49]);
  },
  async (id) => {
    const text = "SELECT repeat($1, 2000)";
    expect((await connections.query(text, [`<${id}>`])).rows).toEqual([[`<${id}>`.repeat(2_000)]]);
  },
  async (id) => {
    const { rows } = await connections.query("SELECT * FROM unnest($1::integer[])", [[id, id + 1]]);
    expect(rows).toEqual([[id], [id + 1]]);
  },
  async (id) => {
    // A text of its own: it is prepared under way, and pushes others out of the server's prepared statements.
    expect((await connections.query(`SELECT ${id % 3_000} AS "c${id % 3_000}"`)).columns).toEqual([
      `c${id % 3_000}`,
    ]);
  },
  async (id) => {
    const failed = connections.query("SELECT ($1 || 'x')::integer", [`${id}`]);
    const error: unknown = await failed.catch((reason: unknown) => reason);
    if (isOutcomeUnknown(error)) throw error;
    expect(String(error)).toContain(`"${id}x"`);
  },
  async (id) => {
    await connections.query("INSERT INTO t VALUES ($1, $2, $3)", [id, `n${id}`, Buffer.from([id % 256])]);
  },
];

/** Runs the operations of these numbers, 200 at once, and returns what each of them failed with. */
async function runAll(
  from: number,
  count: number,
  operation: (id: number) => Promise<void>,
): Promise<Map<number, unknown>> {
  const failures = new Map<number, unknown>();
  let next = from;
  const worker = async () => {
    while (next < from + count) {
      const id = next++;
      await operation(id).catch((error: unknown) => failures.set(id, error));
    }
  };
  await Promise.all(Array.from({ length: 200 }, worker));
  return failures;
}

async function ids(): Promise<Set<number>> {
  const { rows } = await connections.query("SELECT id FROM t");
  return new Set(rows.flat() as number[]);
}

test("of 60,000 mixed statements, 200 at once on 4 connections, each gets its own answer", async () => {
  const failures = await runAll(0, 60_000, async (id) => {
    await operations[id % operations.length]?.(id);
  });
  expect([...failures.values()]).toEqual([]);
  expect((await ids()).size).toBe(60_000 / operations.length);
}, 60_000);

test("transactions in sessions and statements beside them do not meet", async () => {
  const failures = await runAll(100_000, 2_000, async (id) => {
    if (id % 4 > 0) return operations[id % 4]?.(id);
    const session = await connections.session();
    await session.query("BEGIN");
    await session.query("INSERT INTO t (id, name) VALUES ($1, 'session')", [id]);
    const { rows } = await session.query("SELECT count(*) FROM t WHERE name = 'session'");
    await session.query(id % 8 === 0 ? "COMMIT" : "ROLLBACK");
    session.release();
    expect(rows.length).toBe(1);
  });
  expect([...failures.values()]).toEqual([]);
  const found = await ids();
  for (let id = 100_000; id < 102_000; id += 4) expect(found.has(id)).toBe(id % 8 === 0);
}, 60_000);

test("while backends are ended each statement gets its own answer or fails, and none is stuck", async () => {
  await using other = await closing(openConnections(`${database.url}?application_name=other`));
  const inserted = new Set<number>();
  const failures = await runAll(200_000, 20_000, async (id) => {
    if (id % 500 === 0) await other.query(endBackends, [4 - ((id / 500) % 4)]);
    const kind = id % operations.length;
    await operations[kind]?.(id);
    if (kind === operations.length - 1) inserted.add(id);
  });
  expect(failures.size).toBeGreaterThan(0);
  // A failed expectation of an operation is an answer that was another's.
  for (const error of failures.values()) expect(isOutcomeUnknown(error) ? "cut" : error).toBe("cut");
  const found = await until("all connections are whole again", () => ids().catch(() => undefined));
  for (const id of inserted) expect(found.has(id)).toBe(true);
  expect((await runAll(300_000, 400, (id) => operations[id % 4]?.(id) ?? Promise.resolve())).size).toBe(0);
}, 60_000);

/** Ends some backends of the connections under test. */
const endBackends =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() " +
  "AND application_name = 'parley' AND pid <> pg_backend_pid() ORDER BY backend_start DESC LIMIT $1";

async function closing(from: Connections): Promise<Connections & AsyncDisposable> {
  await from.query("SELECT 1");
  return { ...from, [Symbol.asyncDispose]: () => from.close() };
}
