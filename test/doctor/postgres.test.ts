import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import type { Finding } from "../../src/doctor/finding.ts";
import { judgeConnections } from "../../src/doctor/postgres.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";

setDefaultTimeout(120_000);

let postgres: TestPostgres;
let folder: TemporaryFolder;
let url: string;

beforeAll(async () => {
  postgres = await startPostgres({ settings: { fsync: "on", full_page_writes: "on" } });
  folder = temporaryFolder();
  url = await postgres.createDatabase("chat");
  expect((await command(url, "init", "--team", "Acme", "--owner", "Ada")).status).toBe(0);
});
afterAll(async () => {
  folder[Symbol.dispose]();
  await postgres[Symbol.asyncDispose]();
});

async function command(at: string, ...args: string[]) {
  return await run(folder.path, args, { PARLEY_DATABASE_URL: at, PARLEY_PORT: "0" });
}

/** The findings of doctor by the names of their checks; several of one check are joined. */
async function examine(
  at: string,
  ...args: string[]
): Promise<{ status: number; of: Record<string, Finding> }> {
  const { status, stdout } = await command(at, "doctor", "--json", ...args);
  const { data } = JSON.parse(stdout) as { data: Finding[] };
  return { status, of: Object.fromEntries(data.map((finding) => [finding.check, finding])) };
}

/** Changes settings of the server while `work` runs. */
async function withSetting(name: string, value: string, work: () => Promise<void>): Promise<void> {
  const shows = async (wanted: (value: string) => boolean) => {
    await postgres.query("SELECT pg_reload_conf()");
    await until("the setting holds", async () => {
      const [row] = await postgres.query<Record<string, string>>(`SHOW ${name}`);
      return wanted(String(row?.[name]));
    });
  };
  const [before] = await postgres.query<Record<string, string>>(`SHOW ${name}`);
  await postgres.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await shows((now) => now === value);
  try {
    await work();
  } finally {
    await postgres.query(`ALTER SYSTEM RESET ${name}`);
    await shows((now) => now === before?.[name]);
  }
}

test("doctor finds nothing wrong with a healthy PostgreSQL, and makes no check of a file", async () => {
  const { status, of } = await examine(url, "--full");
  expect(status).toBe(0);
  for (const check of ["TLS", "database", "database clock", "migrations", "PostgreSQL", "durability"])
    expect(of[check], check).toMatchObject({ state: "ok" });
  for (const check of ["standbys", "nodes", "connections", "key", "clock"])
    expect(of[check], check).toMatchObject({ state: "ok" });
  expect(of.integrity?.found).toContain("pg_amcheck");
  expect(Object.keys(of)).not.toContain("SQLite");
  expect(Object.keys(of)).not.toContain("flush");
  expect(of.database?.found).not.toContain(postgres.password);
  const { stdout } = await command(url, "doctor");
  for (const line of stdout.split("\n").filter((each) => !each.includes(folder.path)))
    expect(line.length, line).toBeLessThanOrEqual(80);
});

test("while the database is away, doctor says so and what to do", async () => {
  const { port } = postgres;
  await postgres.stop();
  try {
    const { status, of } = await examine(url);
    expect(status).toBe(1);
    expect(of.database).toMatchObject({
      state: "failed",
      found: "The database cannot be reached.",
      remedy: "Start it, or correct PARLEY_DATABASE_URL.",
    });
    // What does not need it is checked all the same.
    expect(of.key?.found).toContain("can be read");
  } finally {
    await postgres.start();
    expect(postgres.port).toBe(port);
  }
});

test("a database that does not exist, is empty or of a newer version is named as such", async () => {
  expect((await examine(postgres.url("none"))).of.database).toMatchObject({
    state: "failed",
    remedy: "Create it, or correct PARLEY_DATABASE_URL.",
  });
  const { of } = await examine(await postgres.createDatabase("empty"));
  expect(of.migrations?.remedy).toContain("parley init");
  await postgres.query("INSERT INTO migrations VALUES ('9999_later', 0)", "chat");
  expect((await examine(url)).of.migrations?.found).toContain("9999_later");
  await postgres.query("DELETE FROM migrations WHERE name = '9999_later'", "chat");
});

test("a server that may lose or refuse what it is told is found out", async () => {
  await withSetting("fsync", "off", async () => {
    const { status, of } = await examine(url);
    expect(status).toBe(1);
    expect(of.durability?.found).toContain("fsync is off");
  });
  await withSetting("synchronous_standby_names", "berlin", async () => {
    const { of } = await examine(url);
    expect(of.standbys).toMatchObject({ state: "failed" });
    expect(of.standbys?.found).toContain("(berlin), and there is none");
  });
  await withSetting("default_transaction_read_only", "on", async () => {
    expect((await examine(url)).of.PostgreSQL?.found).toContain("read-only");
  });
});

test("a way to the database that others may listen on is warned of", async () => {
  const { host } = new URL(url);
  const { status, of } = await examine(url.replace(host, `${host},db.example.invalid`));
  expect(status).toBe(0);
  expect(of.TLS).toMatchObject({ state: "warning" });
  expect(of.TLS?.found).toContain("sslmode=prefer on the way to db.example.invalid");
  expect(of.TLS?.remedy).toContain("sslmode=verify-full");
});

test("connections that do not suffice for one server more are warned of", () => {
  expect(judgeConnections({ used: 20, max: 97 }, 3)).toMatchObject([{ state: "ok" }]);
  expect(judgeConnections({ used: 20, max: 47 }, 3)).toMatchObject([{ state: "warning" }]);
  expect(judgeConnections({ used: 95, max: 97 }, 3)).toMatchObject([{ state: "warning" }]);
});

test("without its data folder, a server on PostgreSQL is told to get the key", async () => {
  using other = temporaryFolder();
  rmSync(other.path, { recursive: true });
  const { stdout } = await run(other.path, ["doctor", "--json"], { PARLEY_DATABASE_URL: url });
  const { data } = JSON.parse(stdout) as { data: Finding[] };
  const failed = data.filter(({ state }) => state === "failed");
  expect(failed).toMatchObject([{ check: "data folder", remedy: expect.stringContaining("secret.key") }]);
});
