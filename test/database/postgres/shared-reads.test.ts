import { expect, test } from "bun:test";
import { openConnections } from "../../../src/database/postgres/connections.ts";
import { SharedReads } from "../../../src/database/postgres/shared-reads.ts";
import { freshDatabase } from "../../support/postgres.ts";

test("look-ups that are made together each get their own rows, in their order, or none", async () => {
  await using database = await freshDatabase();
  const connections = openConnections(database.url);
  const sent: string[] = [];
  const reads = new SharedReads({
    ...connections,
    query(text, parameters) {
      sent.push(text);
      return connections.query(text, parameters);
    },
  });
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
  const reads = new SharedReads(connections);
  const statement = "SELECT 12 / cast($1 as bigint)";
  const failed = await Promise.allSettled([0, 0, 3].map((divisor) => reads.query(statement, [divisor])));
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect((await reads.query(statement, [3])).rows).toEqual([[4]]);
  await connections.close();
});
