import { expect, setDefaultTimeout, test } from "bun:test";
import type { WorkspaceStatus } from "../../src/status/status.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { freshDatabase, startPostgres } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

setDefaultTimeout(120_000);

/** Makes a workspace in the database, and returns what runs commands on it. */
async function workspaceAt(dataDir: string, url: string) {
  const commandAt = async (at: string, ...args: string[]) =>
    await run(dataDir, args, { PARLEY_DATABASE_URL: at });
  expect((await commandAt(url, "init", "--team", "Acme", "--owner", "Ada")).status).toBe(0);
  const status = async (at = url) => {
    const { stdout } = await commandAt(at, "status", "--json");
    return (JSON.parse(stdout) as { data: WorkspaceStatus }).data;
  };
  return { commandAt, status };
}

test("status tells of the PostgreSQL that has the data, and of no file", async () => {
  await using database = await freshDatabase();
  using folder = temporaryFolder();
  const { status, commandAt } = await workspaceAt(folder.path, database.url);
  const { postgres, nodes, size } = await status();
  const { host, pathname, password } = new URL(database.url);
  expect(postgres).toMatchObject({
    database: host + pathname,
    role: "primary",
    standbys: [],
    behind_ms: null,
  });
  expect(postgres?.version).toMatch(/^[0-9]+\.[0-9]+$/);
  expect(postgres?.connections.used).toBeGreaterThan(0);
  expect(postgres?.connections.max).toBeGreaterThan(postgres?.connections.used ?? 0);
  expect(nodes).toEqual([]);
  expect(size).toMatchObject({ log_bytes: null });
  expect(size.database_bytes).toBeGreaterThan(1_000_000);

  const { stdout, stderr } = await commandAt(database.url, "status");
  expect(stdout).toContain(`PostgreSQL ${postgres?.version} at ${host}${pathname}, a primary\n`);
  expect(stdout).toMatch(/^nodes +none runs$/m);
  expect(stdout).not.toContain("write-ahead log");
  expect(stdout).not.toContain(password);
  expect(stderr).toBe("Next: parley serve\n");
});

test("status says which standbys follow, and what is behind on a standby", async () => {
  await using primary = await startPostgres({ withStandby: true });
  const url = await primary.createDatabase("chat");
  using folder = temporaryFolder();
  const { status, commandAt } = await workspaceAt(folder.path, url);
  await using standby = await startPostgres({ standbyOf: primary });
  const [follower] = await until("the standby streams", async () => {
    const { postgres } = await status();
    return postgres?.standbys[0]?.state === "streaming" ? postgres.standbys : undefined;
  });
  expect(follower).toMatchObject({ name: "walreceiver", state: "streaming", sync_state: "async" });
  expect(follower?.lag_bytes).toBeGreaterThanOrEqual(0);
  expect((await commandAt(url, "status")).stdout).toMatch(/^standbys +walreceiver: streaming, async, /m);

  const there = standby.url("chat");
  await until("the workspace is there", async () => (await commandAt(there, "status")).status === 0);
  const { postgres } = await status(there);
  expect(postgres).toMatchObject({ role: "standby", standbys: [] });
  expect(postgres?.behind_ms).toBeGreaterThanOrEqual(0);
});
