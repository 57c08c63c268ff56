import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { SQL } from "bun";
import { until } from "./conditions.ts";
import { freshDatabase, startPostgres } from "./postgres.ts";

test("two databases for tests know nothing of each other, and a database is gone after its test", async () => {
  await using one = await freshDatabase();
  let url: string;
  {
    await using other = await freshDatabase();
    url = other.url;
    await using sql = new SQL(url, { max: 1 });
    await sql`CREATE TABLE notes (text text)`;
  }
  await using sql = new SQL(one.url, { max: 1 });
  expect([...(await sql`SELECT to_regclass('notes') AS found`)]).toEqual([{ found: null }]);
  const name = new URL(url).pathname.slice(1);
  expect([...(await sql`SELECT datname FROM pg_database WHERE datname = ${name}`)]).toEqual([]);
});

test("a PostgreSQL for a test sorts text as a language does, unless a column says otherwise", async () => {
  await using database = await freshDatabase();
  await using sql = new SQL(database.url, { max: 1 });
  const words = await sql`SELECT word FROM (VALUES ('b'), ('B'), ('a')) AS words (word) ORDER BY word`;
  expect([...words].map(({ word }: { word: string }) => word)).toEqual(["a", "b", "B"]);
});

test("a PostgreSQL for a test comes back with its data after a crash, and its standby can take its place", async () => {
  await using primary = await startPostgres({ withStandby: true });
  await primary.query("CREATE TABLE notes AS SELECT 'kept' AS text");
  await primary.kill9();
  await primary.start();
  expect(await primary.query<{ text: string }>("SELECT text FROM notes")).toEqual([{ text: "kept" }]);

  await using standby = await startPostgres({ standbyOf: primary });
  await primary.stop("immediate");
  await standby.promote();
  await standby.query("INSERT INTO notes VALUES ('new')");
  const rows = await standby.query<{ text: string }>("SELECT text FROM notes ORDER BY text");
  expect(rows.map(({ text }) => text)).toEqual(["kept", "new"]);
});

test("nothing is left of a PostgreSQL whose test run was killed", async () => {
  const program = `
    import { startPostgres } from ${JSON.stringify(`${import.meta.dir}/postgres.ts`)};
    const postgres = await startPostgres();
    console.log(JSON.stringify({ folder: postgres.folder, pid: postgres.pid }));
    process.kill(process.pid, "SIGKILL");
  `;
  const run = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
  const { folder, pid } = JSON.parse(await run.stdout.text()) as { folder: string; pid: number };
  await run.exited;
  await until("its folder is gone", () => !existsSync(folder));
  await until("its process is gone", () => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
    } catch {
      return true;
    }
  });
});
