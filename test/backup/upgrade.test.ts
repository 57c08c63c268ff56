import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import { holdServerLock } from "../../src/database/server-lock.ts";
import { until } from "../support/conditions.ts";
import { onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { parley, startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const newest = migrations.at(-1)?.name ?? "";

/** A data folder as a version without these migrations left it, with the team Acme. */
function oldFolder(path: string, without: readonly string[]): void {
  mkdirSync(path, { recursive: true });
  using file = new SqliteFile(join(path, "parley.db"), { create: true, strict: true });
  file.run("PRAGMA journal_mode = WAL");
  migrate(
    file,
    migrations.filter(({ name }) => !without.includes(name)),
  );
  file.run("INSERT INTO teams VALUES ('0198c0de-0000-7000-8000-000000000001', 'Acme', 'acme', 1)");
}

function appliedIn(path: string): string[] {
  using file = new SqliteFile(join(path, "parley.db"), { readonly: true });
  return file
    .query<{ name: string }, []>("SELECT name FROM migrations ORDER BY name")
    .all()
    .map(({ name }) => name);
}

const copiesIn = (path: string) =>
  readdirSync(path)
    .filter((name) => name.startsWith("before-0"))
    .sort();

describe("before an upgrade", () => {
  test("a copy of the database is kept that the older version can use", async () => {
    using folder = temporaryFolder();
    oldFolder(folder.path, [newest]);
    const before = appliedIn(folder.path);
    await runJson(folder.path, ["teams", "list"]);
    expect(appliedIn(folder.path)).toContain(newest);
    const [copy = "", ...others] = copiesIn(folder.path);
    expect(others).toEqual([]);
    expect(copy).toStartWith(`before-${newest}-`);
    expect(readdirSync(join(folder.path, copy))).toEqual(["parley.db"]);
    expect(appliedIn(join(folder.path, copy))).toEqual(before);
    await runJson(folder.path, ["teams", "list"]);
    expect(copiesIn(folder.path)).toEqual([copy]);
  });

  test("a new workspace keeps no copy", async () => {
    using folder = temporaryFolder();
    await runJson(folder.path, ["init", "--team", "Acme", "--owner", "Ada"]);
    expect(copiesIn(folder.path)).toEqual([]);
  });

  test("however often it fails half-way, the copy of the state that worked stays, and is the only one", async () => {
    using folder = temporaryFolder();
    const [first = "", second = ""] = migrations.slice(-2).map(({ name }) => name);
    oldFolder(folder.path, [first, second]);
    const before = appliedIn(folder.path);
    // What the second of the missing migrations makes is in its way, whatever that is.
    obstruct(folder.path, second);
    for (let tries = 0; tries < 4; tries++) {
      await runRefused(folder.path, ["teams", "list"]);
      const copies = copiesIn(folder.path);
      expect(copies.length).toBe(1);
      expect(appliedIn(join(folder.path, copies[0] ?? ""))).toEqual(before);
    }
    expect(appliedIn(folder.path)).toContain(first);
  });

  test("copies of the last three upgrades are kept", async () => {
    using folder = temporaryFolder();
    oldFolder(folder.path, [newest]);
    using old = temporaryFolder();
    copyFileSync(join(folder.path, "parley.db"), join(old.path, "parley.db"));
    for (const day of ["01", "02", "03"]) {
      const earlier = join(folder.path, `before-0005_leaner_writes-2026-01-${day}T00-00-00Z`);
      mkdirSync(earlier);
      copyFileSync(join(old.path, "parley.db"), join(earlier, "parley.db"));
    }
    await runJson(folder.path, ["teams", "list"]);
    const copies = copiesIn(folder.path);
    expect(copies.map((name) => name.slice(0, 11))).toEqual([
      "before-0005",
      "before-0005",
      `before-${newest.slice(0, 4)}`,
    ]);
    expect(copies[0]).toContain("2026-01-02");
  });
});

test("commands that meet an old workspace at once upgrade it one after the other, with a copy of the old state", async () => {
  using folder = temporaryFolder();
  oldFolder(folder.path, [newest]);
  const lists = Array.from({ length: 4 }, () => run(folder.path, ["teams", "list", "--json"]));
  for (const { status, stdout } of await Promise.all(lists)) {
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("Acme") });
  }
  const copies = copiesIn(folder.path);
  expect(copies.map((name) => appliedIn(join(folder.path, name)).includes(newest))).toEqual([false]);
});

test("a command that waits for an upgrade works with the server that made it", async () => {
  using folder = temporaryFolder();
  oldFolder(folder.path, [newest]);
  const lock = holdServerLock(folder.path);
  const list = run(folder.path, ["teams", "list", "--json"]);
  await until("the command waits", () => isWaitedFor(folder.path), { timeout_ms: 30_000 });
  {
    using file = new SqliteFile(join(folder.path, "parley.db"), { strict: true });
    migrate(file);
  }
  const { status, stdout } = await list;
  lock[Symbol.dispose]();
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("Acme") });
});

test("an upgrade says on a terminal how far it is, and nothing without one", async () => {
  using folder = temporaryFolder();
  oldFolder(folder.path, [newest]);
  using other = temporaryFolder();
  oldFolder(other.path, [newest]);
  await using screen = onTerminal(folder.path, ["teams", "list"]);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain(`Upgrading the data: 1 of 1 (${newest})`);
  const { stderr } = await run(other.path, ["teams", "list", "--quiet"]);
  expect(stderr).toBe("");
});

test("the refusal to upgrade under a server names both versions", async () => {
  await using server = await startServer();
  const { stdout: version } = await run(server.dataDir, ["--version"]);
  using file = new SqliteFile(join(server.dataDir, "parley.db"));
  file.run("PRAGMA busy_timeout = 5000");
  file.run("DELETE FROM migrations WHERE name = ?", [newest]);
  const { status, message } = await runRefused(server.dataDir, ["teams", "list"]);
  expect(status).toBe(1);
  expect(message).toStartWith(
    `parley ${version.trim()} is serving ${server.dataDir}, and this is parley ${version.trim()}`,
  );
}, 60_000);

test("a new version rehearses the upgrade of an older one's data, which has no such command", async () => {
  using folder = temporaryFolder();
  oldFolder(folder.path, [newest]);
  const { status, stdout } = await run(folder.path, ["upgrade", "--rehearse", parley]);
  expect(status, stdout).toBe(0);
  expect(stdout).toStartWith("The upgrade from an older parley to ");
  expect(stdout).toMatch(new RegExp(`^It applied 1 migration in .*: ${newest}\\.$`, "m"));
  expect(appliedIn(folder.path)).not.toContain(newest);
}, 60_000);

/** Makes the migration fail. */
function obstruct(path: string, name: string): void {
  using file = new SqliteFile(join(path, "parley.db"), { strict: true });
  file.run(`CREATE TRIGGER obstruction BEFORE INSERT ON migrations WHEN NEW.name = '${name}'
    BEGIN SELECT RAISE(ABORT, 'obstructed'); END`);
}

/** Whether another process has opened the folder, as one does that waits for its lock. */
function isWaitedFor(path: string): boolean {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return processes.some((name) => {
    try {
      const descriptors = join("/proc", name, "fd");
      return readdirSync(descriptors).some((each) => readlinkSync(join(descriptors, each)) === path);
    } catch {
      // It has ended, or is somebody else's.
      return false;
    }
  });
}
