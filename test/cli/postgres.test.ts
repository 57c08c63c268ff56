import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgres } from "../../src/database/postgres/open.ts";
import { setSchedule } from "../../src/backup/schedule.ts";
import { run } from "../support/cli.ts";
import { parley, startServer } from "../support/server.ts";
import { freshDatabase } from "../support/postgres.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

setDefaultTimeout(120_000);

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: TemporaryFolder;
let made: string;

beforeAll(async () => {
  database = await freshDatabase();
  folder = temporaryFolder();
  const { status, stdout } = await command("init", "--team", "Acme", "--owner", "Ada");
  expect(status).toBe(0);
  made = stdout;
});
afterAll(async () => {
  folder[Symbol.dispose]();
  await database[Symbol.asyncDispose]();
});

async function command(...args: string[]) {
  return await run(folder.path, args, { PARLEY_DATABASE_URL: database.url });
}

test("init and quickstart say in which database the workspace is, and where its key", async () => {
  const { host, pathname, password } = new URL(database.url);
  expect(made).toContain(`Acme in the database ${host}${pathname}, with its key in ${folder.path}.\n`);
  expect(made).not.toContain(password);
});

test.each([
  ["backup FILE", ["backup", "FILE", "--without-key"], "pg_dump --format=custom"],
  ["backup --every", ["backup", "--every", "6h", "--to", "FOLDER"], "pg_dump --format=custom"],
  ["restore", ["restore", "FILE"], "pg_restore"],
  ["upgrade --rehearse", ["upgrade", "--rehearse", parley], "restore a dump of it to a second database"],
])("%s says what does that for a database on PostgreSQL", async (_, args, instead) => {
  const places: Record<string, string> = { FILE: join(folder.path, "..", "none.tar"), FOLDER: "/tmp" };
  const { status, stdout, stderr } = await command(...args.map((arg) => places[arg] ?? arg));
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("The workspace is on PostgreSQL, which has backups of its own.");
  expect(stderr).toContain(instead);
  if (args[0] === "backup") expect(stderr).toContain(`${folder.path}/secret.key`);
});

test("a schedule of backups that came along is named as one that does not run, and can be ended", async () => {
  const opened = await openPostgres(database.url);
  await opened.write((tx) =>
    setSchedule(tx, { everyMs: 3_600_000, keep: 3, folder: "/tmp", passphraseFile: null }, "cli:test"),
  );
  await opened.close();
  {
    await using server = await startServer({
      dataDir: folder.path,
      environment: { PARLEY_DATABASE_URL: database.url },
    });
    await server.logLine(({ msg }) => msg === "backup.not_run");
    await server.stop();
    expect(server.logLines().join("\n")).not.toContain("backup.failed");
  }
  const shown = await command("backup");
  expect(shown.stdout).toContain("pg_dump --format=custom");
  expect(shown.stdout).toMatch(/^schedule +every .*: it does not run on PostgreSQL$/m);
  expect((await command("backup", "--every", "off")).status).toBe(0);
  expect((await command("backup")).stdout).toMatch(/^schedule +none$/m);
});

test("a server whose key is in the settings makes the folder that it is given", async () => {
  using parent = temporaryFolder();
  const dataDir = join(parent.path, "node");
  const key = readFileSync(join(folder.path, "secret.key"), "utf8").trim();
  const environment = { PARLEY_DATABASE_URL: database.url, PARLEY_SECRET_KEY: key };
  await using server = await startServer({ dataDir, environment });
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});

test("readiness does not judge the disk of a data folder that has no data", async () => {
  await using server = await startServer({
    dataDir: folder.path,
    environment: { PARLEY_DATABASE_URL: database.url },
  });
  const response = await fetch(`${server.url}/readyz`);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    checks: { writes: { status: "ok" }, disk_space: { status: "off" } },
  });
});
