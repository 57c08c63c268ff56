import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { runJson, runRefused } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";

const init = ["init", "--team", "Acme", "--owner", "Ada"];
const serve = ["serve", "--port", "0"];

/** A workspace that was made and used on the command line, with no process on it. */
async function workspaceFolder(): Promise<TemporaryFolder & { file: (name: string) => string }> {
  const folder = temporaryFolder();
  await runJson(folder.path, init);
  return Object.assign(folder, { file: (name: string) => join(folder.path, name) });
}

async function addPerson(dataDir: string, name: string): Promise<void> {
  await runJson(dataDir, ["users", "create", "--name", name]);
}

async function people(dataDir: string): Promise<string[]> {
  return (await runJson<Array<{ name: string }>>(dataDir, ["users", "list"])).map(({ name }) => name);
}

/** Refused by the server and by commands, in the same words. */
async function refusal(dataDir: string): Promise<string> {
  const [served, listed] = [await runRefused(dataDir, serve), await runRefused(dataDir, ["users", "list"])];
  expect(served).toEqual(listed);
  expect(served.status).toBe(5);
  return served.message;
}

describe("an older parley.db with the WAL of a killed server", () => {
  test("is refused with two ways to fix it, each of which works, and nothing is changed", async () => {
    using folder = await workspaceFolder();
    const { file, path } = folder;
    await addPerson(path, "Before");
    copyFileSync(file("parley.db"), file("older"));
    await addPerson(path, "Between");
    {
      await using server = await startServer({ dataDir: path });
      const post = await poster(server);
      await post("the last words");
      await server.kill9();
    }
    renameSync(file("parley.db"), file("newer"));
    copyFileSync(file("older"), file("parley.db"));
    const log = readFileSync(file("parley.db-wal"));

    const message = await refusal(path);
    expect(message).toMatch(/parley\.db is not the file that parley\.db-wal next to it was written for/);
    expect(message).toMatch(/Restore the parley\.db that belongs to it; or.* move parley\.db-wal away/);
    expect(readFileSync(file("parley.db-wal")).equals(log)).toBe(true);

    // Without the log, the copy is served as it was.
    renameSync(file("parley.db-wal"), file("kept"));
    expect(await people(path)).toEqual(["Ada", "Before"]);
    // With the file that it belongs to, nothing is lost.
    renameSync(file("newer"), file("parley.db"));
    renameSync(file("kept"), file("parley.db-wal"));
    expect(await people(path)).toEqual(["Ada", "Before", "Between"]);
    expect(messages(file("parley.db"))).toEqual(["the last words"]);
  });

  test("is also recognised when both come from one run of the server, and so is another workspace's database", async () => {
    using folder = await workspaceFolder();
    using other = await workspaceFolder();
    const { file, path } = folder;
    const posted = Array.from({ length: 600 }, (_, index) => `${index} ${"x".repeat(4_000)}`);
    {
      await using server = await startServer({ dataDir: path });
      const post = await poster(server);
      copyFileSync(file("parley.db"), file("older"));
      // The log holds four times as much as it takes before it is brought into the file, so it is begun anew.
      for (const body of posted) await post(body);
      await server.kill9();
    }
    copyFileSync(file("parley.db"), file("newest"));
    for (const foreign of [file("older"), other.file("parley.db")]) {
      copyFileSync(foreign, file("parley.db"));
      expect(await refusal(path)).toContain("parley.db-wal next to it");
    }
    copyFileSync(file("newest"), file("parley.db"));
    expect(await people(path)).toEqual(["Ada"]);
    expect(messages(file("parley.db"))).toEqual(posted);
  });
});

/** Posts as Ada through the API, so that it is the server that writes. */
async function poster({ url, dataDir }: TestServer): Promise<(body: string) => Promise<void>> {
  const create = ["tokens", "create", "--user", "Ada", "--all-scopes"];
  const client = apiClient(url, (await runJson<{ token: string }>(dataDir, create)).token);
  const [general] = (await client.get<{ data: Array<{ id: string }> }>("/channels")).json.data;
  return async (body) => {
    expect((await client.post(`/channels/${general?.id}/messages`, { body })).status).toBe(201);
  };
}

function messages(path: string): unknown[] {
  using file = new SqliteFile(path, { readonly: true });
  return file.query("SELECT body FROM messages ORDER BY position").values().flat();
}

describe("a missing parley.db whose secret.key is still there", () => {
  test.each([
    ["emptied", (path: string) => truncateSync(path), "is empty"],
    ["removed", (path: string) => rmSync(path), "is missing"],
  ])(
    "because it was %s, is not an empty workspace: every command refuses it and says how to fix it",
    async (_, lose, what) => {
      using folder = await workspaceFolder();
      lose(folder.file("parley.db"));
      const before = readdirSync(folder.path);
      const message = await refusal(folder.path);
      expect(message).toContain(`parley.db ${what}`);
      expect(message).toMatch(/Restore parley\.db from a backup; or, to start over, move secret\.key away/);
      expect((await runRefused(folder.path, init)).message).toBe(message);
      expect((await runRefused(folder.path, ["quickstart"])).message).toBe(message);
      expect(readdirSync(folder.path)).toEqual(before);

      renameSync(folder.file("secret.key"), folder.file("kept.key"));
      await runJson(folder.path, init);
      expect(await people(folder.path)).toEqual(["Ada"]);
    },
  );

  test("is told apart from an interrupted init, which can be run again", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "parley.db"), "");
    await runJson(folder.path, init);
    expect(await people(folder.path)).toEqual(["Ada"]);
  });
});

describe("a damaged database", () => {
  test.each(["tokens", "tokens_by_user", "channels", "subscriptions"])(
    "whose pages of %s are garbage stops the start, with its name and how to fix it",
    async (name) => {
      using folder = await workspaceFolder();
      const path = folder.file("parley.db");
      overwritePage(path, rootPage(path, name));
      const { status, message } = await runRefused(folder.path, serve);
      expect(status).toBe(5);
      expect(message).toContain(`${path} is damaged`);
      expect(message).toContain("restore a backup: parley restore FILE");
    },
  );

  test("that a command finds is named by it, too", async () => {
    using folder = await workspaceFolder();
    const path = folder.file("parley.db");
    overwritePage(path, rootPage(path, "users"));
    expect((await runRefused(folder.path, ["users", "list"])).message).toContain(`${path} is damaged`);
  });
});

test("data of a newer version has an exit status that tells systemd not to start it again", async () => {
  using folder = await workspaceFolder();
  {
    using file = new SqliteFile(folder.file("parley.db"));
    file.run("INSERT INTO migrations SELECT '9999_from_the_future', applied_at FROM migrations LIMIT 1");
  }
  const { status, message } = await runRefused(folder.path, serve);
  expect({ status, message }).toEqual({
    status: 5,
    message: expect.stringContaining("9999_from_the_future"),
  });
});

function rootPage(path: string, name: string): number {
  using file = new SqliteFile(path, { readonly: true });
  const query = "SELECT rootpage FROM sqlite_schema WHERE name = ?";
  return file.query<{ rootpage: number }, [string]>(query).get(name)?.rootpage ?? 0;
}

function overwritePage(path: string, page: number): void {
  const opened = openSync(path, "r+");
  writeSync(opened, randomBytes(4_096), 0, 4_096, (page - 1) * 4_096);
  closeSync(opened);
}

describe("a start after an unclean shutdown", () => {
  test("logs the size of the recovered WAL and the time of the check; after a clean shutdown it logs neither", async () => {
    using folder = await workspaceFolder();
    {
      await using server = await startServer({ dataDir: folder.path });
      const post = await poster(server);
      await post("the last words");
      await server.kill9();
    }
    await using server = await startServer({ dataDir: folder.path });
    const line = await server.logLine(({ msg }) => msg === "database.recovered");
    expect(line).toMatchObject({ level: 40, reason: expect.stringContaining("did not exit cleanly") });
    expect(line.log_bytes).toBeGreaterThan(4_096);
    expect(line.checked_in_ms).toBeGreaterThanOrEqual(0);
    expect(messages(folder.file("parley.db"))).toEqual(["the last words"]);

    expect(await server.stop()).toBe(0);
    await using clean = await startServer({ dataDir: folder.path });
    await clean.logLine(({ msg }) => msg === "server.started");
    expect(clean.logLines().join()).not.toContain("database.recovered");
  });
});

describe("server.lock", () => {
  test("that is not a lock is named in the error, and may be removed", async () => {
    using folder = await workspaceFolder();
    writeFileSync(folder.file("server.lock"), "This is no lock, and it is long enough to be one.".repeat(99));
    const { status, message } = await runRefused(folder.path, serve);
    expect(status).toBe(1);
    expect(message).toMatch(/server\.lock is not parley's lock file\. .* remove it, and start again/);
    expect(message).not.toContain("parley.db");
    rmSync(folder.file("server.lock"));
    await using server = await startServer({ dataDir: folder.path });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});
