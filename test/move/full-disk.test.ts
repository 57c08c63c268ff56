import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { DatabaseProxy } from "../support/database-proxy.ts";
import { startOnSmallDisk } from "../hostile/small-disk.ts";
import { type Moved, MoveStage, moveTo } from "./stage.ts";

/** The rest of the disk when the move begins: less than the workspace needs. */
const bytesLeft = 600_000;

for (const [what, disk] of [
  ["data", "the disk of the database"],
  ["log", "the disk under the database's log"],
] as const) {
  test(`when ${disk} fills up, a move ends, and goes on when there is room, to the same digest`, async () => {
    await using stage = await MoveStage.start();
    const small = await startOnSmallDisk(what);
    await using postgres = small.postgres;
    const url = await postgres.createDatabase("target");
    await makeTables(url);
    const dataDir = stage.copyOfAcme("acme-on-small-disk");
    {
      using file = new SqliteFile(join(dataDir, "parley.db"));
      file.run("UPDATE messages SET body = body || hex(randomblob(1000))");
    }
    const copy = stage.path("copy");
    cpSync(dataDir, copy, { recursive: true });
    small.fill(bytesLeft);
    const { status, message } = await runRefused(dataDir, ["move", "--to", url, "--yes"]);
    expect(status).toBe(1);
    expect(message).toMatch(
      what === "data"
        ? /^The disk of the database is full: postgres:.*The workspace is where it was\./
        : /postgres:.*The workspace is where it was\./,
    );
    expect(await runJson<object[]>(dataDir, ["teams", "list"])).toMatchObject([{ name: "Acme" }]);

    small.clear();
    await until("the database runs", () =>
      postgres.query("SELECT 1").then(
        () => true,
        () => false,
      ),
    );
    const moved = await moveTo(dataDir, url);
    await stage.nextDatabase();
    const { digest, tables } = await moveTo(copy, stage.url);
    expect({ digest: moved.digest, tables: moved.tables }).toEqual({ digest, tables });
    const back = await moveBack(dataDir, stage.path("back"), url);
    expect(back.digest).toBe(digest);
  }, 120_000);
}

test("a move whose very last step fails is finished by the same command, and served nowhere until then", async () => {
  await using stage = await MoveStage.start();
  await stage.nextDatabase();
  await using proxy = await DatabaseProxy.start(Number(new URL(stage.url).port));
  const url = proxy.through(stage.url);
  const dataDir = stage.copyOfAcme("cut-at-the-end");
  const cut = proxy.cutNext(/DELETE FROM move_state; COMMIT/, "lost");
  const { status } = await runRefused(dataDir, ["move", "--to", url, "--yes"]);
  await cut;
  expect(status).toBe(1);
  expect((await runRefused(dataDir, ["teams", "list"])).status).toBe(3);
  expect((await runRefused(dataDir, ["teams", "list"], { PARLEY_DATABASE_URL: url })).status).toBe(3);

  const moved = await moveTo(dataDir, url);
  expect(await runJson<object[]>(dataDir, ["teams", "list"], { PARLEY_DATABASE_URL: url })).toHaveLength(1);
  expect((await moveBack(dataDir, stage.path("back"), url)).digest).toBe(moved.digest);
}, 120_000);

async function makeTables(url: string): Promise<void> {
  const connections = openConnections(url);
  await migratePostgres(connections);
  await connections.close();
}

async function moveBack(dataDir: string, to: string, url: string): Promise<Moved> {
  const { status, stdout } = await run(dataDir, ["move", "--to", to, "--yes", "--json"], {
    PARLEY_DATABASE_URL: url,
  });
  expect(status, stdout).toBe(0);
  return (JSON.parse(stdout) as { data: Moved }).data;
}
