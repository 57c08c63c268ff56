import { expect, test } from "bun:test";
import { openConnections } from "../../../src/database/postgres/connections.ts";
import { explainDatabaseError } from "../../../src/database/postgres/errors.ts";
import { until } from "../../support/conditions.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

/** The address of one database on these hosts. */
function urlOf(...hosts: TestPostgres[]): string {
  const [first] = hosts;
  const names = hosts.map(({ port }) => `127.0.0.1:${port}`);
  return `postgres://parley:${first?.password ?? ""}@${names.join(",")}/postgres`;
}

test("of several hosts the primary is used, and the standby once it is promoted", async () => {
  await using primary = await startPostgres({ withStandby: true });
  await using standby = await startPostgres({ standbyOf: primary });
  const connections = openConnections(urlOf(standby, primary), { tickMs: 300 });
  const heard: string[] = [];
  let listening = 0;
  connections.listen(
    "news",
    (payload) => heard.push(payload),
    () => listening++,
  );
  await connections.query("CREATE TABLE t (id integer)");
  await connections.query("INSERT INTO t VALUES (1)");
  await until("it listens", () => listening > 0);
  await until("the standby has the row", async () => {
    const text = "SELECT count(*)::integer AS count FROM pg_class WHERE relname = 't'";
    return (await standby.query<{ count: number }>(text))[0]?.count === 1;
  });

  await primary.kill9();
  const refused = await connections.query("INSERT INTO t VALUES (2)").catch((error: unknown) => error);
  expect(explainDatabaseError(refused)).toMatchObject({ name: "DomainError" });
  // The standby answers, but takes no writes yet.
  await until("it is said that no host takes writes", async () => {
    const error = await connections.query("INSERT INTO t VALUES (2)").catch((reason: unknown) => reason);
    const { code, message = "" } = explainDatabaseError(error) as { code?: string; message?: string };
    return code === "unwritable" && message.includes("takes no writes");
  });

  await standby.promote();
  await until("writes work again", () =>
    connections.query("INSERT INTO t VALUES (3)").then(
      () => true,
      () => false,
    ),
  );
  await until("it hears from the new primary", async () => {
    await connections.query("SELECT pg_notify('news', 'promoted')");
    return heard.includes("promoted");
  });
  await connections.close();
}, 60_000);

test("a connection to a host that became a standby is given up", async () => {
  await using postgres = await startPostgres();
  const connections = openConnections(urlOf(postgres));
  await connections.query("SET default_transaction_read_only = on");
  const failed = await connections.query("CREATE TABLE t (id integer)").catch((error: unknown) => error);
  expect(explainDatabaseError(failed)).toMatchObject({ code: "unwritable" });
  expect((await connections.query("CREATE TABLE t (id integer)")).count).toBe(0);
  await connections.close();
});
