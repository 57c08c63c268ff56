import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DomainError } from "../../../src/errors.ts";
import { type Connections, openConnections } from "../../../src/database/postgres/connections.ts";
import {
  causeOf,
  explainDatabaseError,
  isOutcomeUnknown,
  isRepeatable,
} from "../../../src/database/postgres/errors.ts";
import { freshDatabase, startPostgres } from "../../support/postgres.ts";

/** The error that the promise rejects with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** What a new connection to this URL fails with. */
async function failureOf(url: string): Promise<unknown> {
  const connections = openConnections(url);
  try {
    return await failure(connections.query("SELECT 1"));
  } finally {
    await connections.close();
  }
}

async function opened(url: string): Promise<Connections & AsyncDisposable> {
  const connections = openConnections(url, { max: 3 });
  await connections.query("SELECT 1");
  return { ...connections, [Symbol.asyncDispose]: () => connections.close() };
}

function explained(error: unknown): DomainError {
  const found = explainDatabaseError(error);
  expect(found).toBeInstanceOf(DomainError);
  return found as DomainError;
}

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(async () => database[Symbol.asyncDispose]());

describe("an error of the server names its cause", () => {
  test.each([
    ["25006", "unwritable", "takes no writes"],
    ["53100", "unwritable", "disk of the database is full"],
    ["53200", "unwritable", "too little memory"],
    ["58030", "unwritable", "fault of its files"],
    ["XX001", "unwritable", "fault of its files"],
    ["53300", "busy", "no connection left"],
    ["40001", "busy", "locked"],
    ["40P01", "busy", "locked"],
    ["42501", "unavailable", "lacks rights"],
  ])("%s is %s: %s", async (state, code, words) => {
    await using connections = await opened(database.url);
    const text = `DO $$ BEGIN RAISE EXCEPTION 'words' USING ERRCODE = '${state}'; END $$`;
    const error = await failure(connections.query(text));
    expect(explained(error)).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(explained(error).message).toContain("Nothing was saved; ");
    // As drizzle wraps it.
    expect(causeOf(new Error("Failed query: secret", { cause: error }))).toContain(words);
    expect((await connections.query("SELECT 1")).rows).toEqual([[1]]);
  });
});

test("a lock that others keep, and a statement that takes too long, are busy", async () => {
  await using connections = await opened(database.url);
  await connections.query("CREATE TABLE t (id integer)");
  const session = await connections.session();
  await session.query("BEGIN");
  await session.query("LOCK TABLE t");
  const other = await connections.session();
  await other.query("SET lock_timeout = 10");
  expect(explained(await failure(other.query("SELECT * FROM t")))).toMatchObject({
    code: "busy",
    message: expect.stringContaining("Other changes keep the database locked"),
  });
  await other.script("SET lock_timeout = 0; SET statement_timeout = 10");
  expect(explained(await failure(other.query("SELECT * FROM t")))).toMatchObject({
    code: "busy",
    message: expect.stringContaining("took too long"),
  });
  other.close();
  session.close();
});

test("after a cut nobody knows whether a statement was carried out", async () => {
  await using connections = await opened(database.url);
  const error = await failure(connections.query("SELECT pg_terminate_backend(pg_backend_pid())"));
  expect(explained(error)).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("Whether anything was saved is not known"),
  });
  expect(isOutcomeUnknown(error)).toBe(true);
  expect(isRepeatable(error)).toBe(false);
});

test("the error of a statement is left as it is", async () => {
  await using connections = await opened(database.url);
  for (const text of ["SELECT 1 / 0", "SELEC 1", "SELECT * FROM missing"]) {
    const error = await failure(connections.query(text));
    expect(explainDatabaseError(error)).toBe(error);
    expect(isOutcomeUnknown(error)).toBe(false);
  }
  const own = new DomainError("invalid", "Words.", { cause: new Error("words") });
  expect(explainDatabaseError(own)).toBe(own);
});

test("a login that is refused, and a database that is not there, are said without the password", async () => {
  await using postgres = await startPostgres({ settings: { max_connections: "7" } });
  const url = postgres.url("postgres");
  const wrong = explained(await failureOf(url.replace(postgres.password, "hunter2")));
  expect(wrong).toMatchObject({ code: "unavailable" });
  expect(wrong.message).toContain("refuses the login");
  expect(Bun.inspect(wrong)).not.toContain("hunter2");
  expect(explained(await failureOf(postgres.url("missing"))).message).toContain("no database of this name");
  const nodes = Array.from({ length: 9 }, () => openConnections(url));
  const errors = await Promise.all(nodes.map((node) => failure(node.query("SELECT 1"))));
  const full = errors.find((error) => error !== undefined);
  expect(explained(full)).toMatchObject({
    code: "busy",
    message: expect.stringContaining("no connection left"),
  });
  expect(isRepeatable(full)).toBe(true);
  await Promise.all(nodes.map((node) => node.close()));

  await postgres.stop();
  const refused = await failureOf(url);
  expect(explained(refused)).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("reached"),
  });
  expect(isOutcomeUnknown(refused)).toBe(false);
});
