import { expect, test } from "bun:test";
import { type Connections, openConnections } from "../../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../../src/database/postgres/migrate.ts";
import { SharedReads } from "../../../src/database/postgres/shared-reads.ts";
import { VersionLook } from "../../../src/database/postgres/version-look.ts";
import { freshDatabase } from "../../support/postgres.ts";

test("look-ups that are made together each get their own rows, in their order, or none", async () => {
  await using database = await freshDatabase();
  const connections = openConnections(database.url);
  await migratePostgres(connections);
  const { noted, sent } = noting(connections);
  const reads = new SharedReads(noted, new VersionLook(noted));
  const statement =
    "SELECT step, cast($2 as text) AS word FROM generate_series(1, cast($1 as bigint)) AS step ORDER BY step DESC";
  const wanted = Array.from({ length: 300 }, (_, number) => number % 4);
  const found = await Promise.all(
    wanted.map((count, number) => reads.query(statement, [count, number === 7 ? null : `'${number}"\\,{}`])),
  );
  await connections.close();
  expect(found.map(({ rows }) => rows)).toEqual(
    wanted.map((count, number) =>
      Array.from({ length: count }, (_, at) => [count - at, number === 7 ? null : `'${number}"\\,{}`]),
    ),
  );
  expect(new Set(found.map(({ columns }) => columns.join())).size).toBe(1);
  expect(sent.length).toBeLessThan(5);
});

test("a look-up that fails fails for those that it was made with, and the next one works", async () => {
  await using database = await freshDatabase();
  const connections = openConnections(database.url);
  await migratePostgres(connections);
  const reads = new SharedReads(connections, new VersionLook(connections));
  const statement = "SELECT 12 / cast($1 as bigint)";
  const failed = await Promise.allSettled([0, 0, 3].map((divisor) => reads.query(statement, [divisor])));
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect((await reads.query(statement, [3])).rows).toEqual([[4]]);
  await connections.close();
});

test("a look-up tells the version to those that look for it in the same turn", async () => {
  await using database = await freshDatabase();
  const connections = openConnections(database.url);
  await migratePostgres(connections);
  const { noted, sent } = noting(connections);
  const look = new VersionLook(noted);
  const reads = new SharedReads(noted, look);
  const version = look.look();
  const two = [1, 2].map((number) => reads.query("SELECT 1 WHERE 1 = cast($1 as bigint)", [number]));
  const [seen] = await Promise.all([version, ...two]);
  expect(sent.length).toBe(1);
  expect(seen).toBe(await look.look());
  expect(sent.length).toBe(2);
  await connections.close();
});

/** The same connections, and the statements that were sent over them. */
function noting(connections: Connections): { noted: Connections; sent: string[] } {
  const sent: string[] = [];
  const query: Connections["query"] = (text, parameters) => {
    sent.push(text);
    return connections.query(text, parameters);
  };
  return { noted: { ...connections, query }, sent };
}
