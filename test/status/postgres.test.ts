import { expect, setDefaultTimeout, test } from "bun:test";
import type { WorkspaceStatus } from "../../src/status/status.ts";
import { rmSync } from "node:fs";
import { onTerminal, run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startNodes } from "../support/nodes.ts";
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
  // The folder has no data, so a command can do without it.
  rmSync(folder.path, { recursive: true });
  expect((await commandAt(database.url, "status")).status).toBe(0);
});

test("status lists the servers that are alive, and how many subscriptions each delivers to", async () => {
  await using stage = await startNodes(2);
  for (let n = 0; n < 10; n++) await stage.subscribe(`http://127.0.0.1:9/${n}`);
  using folder = temporaryFolder();
  const environment = { PARLEY_DATABASE_URL: stage.url };
  const nodes = async () => {
    const { stdout } = await run(folder.path, ["status", "--json"], environment);
    return (JSON.parse(stdout) as { data: WorkspaceStatus }).data.nodes ?? [];
  };
  const [one, other] = stage.nodes;
  const both = await until("they share the subscriptions", async () => {
    const found = await nodes();
    return found.length === 2 && found[0]!.subscriptions + found[1]!.subscriptions === 10 && found;
  });
  expect(both).toMatchObject([
    { url: one?.url, pid: one?.pid, delivers: true },
    { url: other?.url, pid: other?.pid, delivers: true },
  ]);
  await using screen = onTerminal(folder.path, ["status"], environment);
  await screen.ended();
  expect(screen.text).toContain(other?.url ?? "");
  for (const line of screen.text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);

  await other?.kill9();
  const left = await until("the one that is left has all", async () => {
    const found = await nodes();
    return found.length === 1 && found[0]!.subscriptions === 10 && found;
  });
  expect(left).toMatchObject([{ url: one?.url }]);
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
