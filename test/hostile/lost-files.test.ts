import { Database as SqliteFile } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdServerLock } from "../../src/database/server-lock.ts";
import { runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

/** A server whose owner posts as fast as it answers, and what came of each post. */
class Posted implements AsyncDisposable {
  readonly server: TestServer;
  /** The statuses in the order of the answers, each with the number of log lines that were there before it was sent. */
  readonly answers: Array<{ status: number; body: string; linesBefore: number }> = [];
  readonly #folder: TemporaryFolder;
  readonly #posting: Promise<void>;
  readonly #channel: { url: string; token: string };

  private constructor(server: TestServer, folder: TemporaryFolder, channel: { url: string; token: string }) {
    this.server = server;
    this.#folder = folder;
    this.#channel = channel;
    this.#posting = this.#postUntilTheEnd();
  }

  /** Made by commands, so that no process but the server has the files open. */
  static async start(): Promise<Posted> {
    const folder = temporaryFolder();
    await runJson(folder.path, ["init", "--team", "Acme", "--owner", "Ada"]);
    const create = ["tokens", "create", "--user", "Ada", "--all-scopes"];
    const { token } = await runJson<{ token: string }>(folder.path, create);
    const [general] = await runJson<Array<{ id: string }>>(folder.path, ["channels", "list"]);
    const server = await startServer({ dataDir: folder.path });
    const url = `${server.url}/api/v1/channels/${general?.id}/messages`;
    return new Posted(server, folder, { url, token });
  }

  path(name: string): string {
    return join(this.server.dataDir, name);
  }

  get acknowledged(): string[] {
    return this.answers.filter(({ status }) => status === 201).map(({ body }) => body);
  }

  /** Waits until so many more posts are acknowledged. */
  async acknowledges(count: number): Promise<void> {
    const before = this.acknowledged.length;
    await until(`${count} more are posted`, () => this.acknowledged.length >= before + count);
  }

  /** Waits until the server has ended by itself, and returns its status and what it says it ended for. */
  async ended(): Promise<{ status: number; line: Record<string, unknown> }> {
    await this.#posting;
    const status = await this.server.ended();
    return { status, line: await this.server.logLine(({ msg }) => msg === "files.lost") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#posting;
    this.#folder[Symbol.dispose]();
  }

  async #postUntilTheEnd(): Promise<void> {
    const { url, token } = this.#channel;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    for (let count = 1; ; count++) {
      const linesBefore = this.server.logLines().length;
      const body = `message ${count} ${"x".repeat(2_000)}`;
      try {
        const { status } = await fetch(url, { method: "POST", headers, body: JSON.stringify({ body }) });
        this.answers.push({ status, body, linesBefore });
      } catch {
        return;
      }
    }
  }
}

/** What operators do, which file it is about, and what must be told of it. */
const mishaps: Array<[string, (posted: Posted) => void, string, RegExp]> = [
  [
    "a copy is moved over parley.db",
    (posted) => renameSync(posted.path("copy"), posted.path("parley.db")),
    "parley.db",
    /replaced/,
  ],
  [
    "a copy is written over parley.db",
    (posted) => writeFileSync(posted.path("parley.db"), readFileSync(posted.path("copy"))),
    "parley.db",
    /overwritten by another program/,
  ],
  [
    "a copy that SQLite made a moment ago is written over parley.db",
    (posted) => {
      using file = new SqliteFile(posted.path("parley.db"), { readonly: true });
      file.run(`VACUUM INTO '${posted.path("vacuumed")}'`);
      writeFileSync(posted.path("parley.db"), readFileSync(posted.path("vacuumed")));
    },
    "parley.db",
    /overwritten by another program/,
  ],
  ["parley.db is removed", (posted) => rmSync(posted.path("parley.db")), "parley.db", /removed/],
  ["parley.db-wal is removed", (posted) => rmSync(posted.path("parley.db-wal")), "parley.db-wal", /removed/],
  ["parley.db-shm is removed", (posted) => rmSync(posted.path("parley.db-shm")), "parley.db-shm", /removed/],
  ["server.lock is removed", (posted) => rmSync(posted.path("server.lock")), "server.lock", /removed/],
];

describe.each(mishaps)("when %s under a running server", (_what, happen, file, reason) => {
  test("it refuses writes, logs why in one line, and exits with a status of its own", async () => {
    await using posted = await Posted.start();
    copyFileSync(posted.path("parley.db"), posted.path("copy"));
    // Where it is about what is in the file, the server has brought the log into it meanwhile.
    await posted.acknowledges(file === "parley.db" ? 400 : 10);
    happen(posted);
    const happenedAt = Date.now();
    const { status, line } = await posted.ended();
    expect(status).toBe(4);
    expect(line).toMatchObject({ level: 60, file: posted.path(file), reason: expect.stringMatching(reason) });
    expect(Date.parse(String(line.time)) - happenedAt).toBeLessThan(2_000);
    expect(posted.server.logLines().filter((each) => each.includes("files.lost"))).toHaveLength(1);

    // What cannot even read its token any more is refused in other words.
    const last = posted.answers.at(-1)?.status;
    if (/overwritten/.test(reason.source)) expect(last).toBeGreaterThanOrEqual(400);
    else expect(last).toBe(503);
    const saidAt = posted.server.logLines().findIndex((each) => each.includes("files.lost"));
    expect(posted.answers.filter((answer) => answer.status === 201 && answer.linesBefore > saidAt)).toEqual(
      [],
    );
  });
});

test("a touched file, and a checkpoint by another program, do not stop the server", async () => {
  await using posted = await Posted.start();
  const path = posted.path("parley.db");
  const goesOn = async () => {
    // Longer than it takes to be certain.
    const endsAt = performance.now() + 1_500;
    await until("some time has passed", () => performance.now() > endsAt);
    await posted.acknowledges(1);
  };
  await runJson(posted.server.dataDir, [
    "channels",
    "create",
    "--name",
    "one",
    "--visibility",
    "public",
    "--as",
    "Ada",
  ]);
  utimesSync(path, new Date(0), new Date(0));
  await goesOn();
  {
    using file = new SqliteFile(path);
    file.run("PRAGMA busy_timeout = 5000");
    file.run("VACUUM");
    file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  await goesOn();
  utimesSync(path, new Date(0), new Date(0));
  await goesOn();
  expect(posted.server.logLines().filter((line) => line.includes("files.lost"))).toEqual([]);
});

describe("an acknowledged write", () => {
  test.each(["parley.db-wal", "server.lock"])("is still there after %s was removed", async (file) => {
    await using posted = await Posted.start();
    await posted.acknowledges(50);
    rmSync(posted.path(file));
    expect((await posted.ended()).status).toBe(4);
    using database = new SqliteFile(posted.path("parley.db"), { readonly: true });
    const kept = database.query("SELECT body FROM messages ORDER BY position").values().flat();
    expect(posted.acknowledged.filter((body) => !kept.includes(body))).toEqual([]);
    await using next = await startServer({ dataDir: posted.server.dataDir });
    expect((await fetch(`${next.url}/healthz`)).status).toBe(200);
  });

  test("does not reach a copy that replaced parley.db, which stays unchanged", async () => {
    await using posted = await Posted.start();
    copyFileSync(posted.path("parley.db"), posted.path("copy"));
    const copy = readFileSync(posted.path("copy"));
    await posted.acknowledges(400);
    const log = statSync(posted.path("parley.db-wal")).ino;
    renameSync(posted.path("copy"), posted.path("parley.db"));
    expect((await posted.ended()).status).toBe(4);
    expect(readFileSync(posted.path("parley.db")).equals(copy)).toBe(true);
    // With the log of the other one still there, it is not served either before that is moved away.
    expect(statSync(posted.path("parley.db-wal")).ino).toBe(log);
    const { message } = await runRefused(posted.server.dataDir, ["serve", "--port", "0"]);
    expect(message).toContain("parley.db-wal");
    renameSync(posted.path("parley.db-wal"), posted.path("kept-wal"));
    await using next = await startServer({ dataDir: posted.server.dataDir });
    expect((await fetch(`${next.url}/healthz`)).status).toBe(200);
  });
});

test("a server that is stopped right after the files were replaced leaves them alone too", async () => {
  await using posted = await Posted.start();
  copyFileSync(posted.path("parley.db"), posted.path("copy"));
  await posted.acknowledges(400);
  const copy = readFileSync(posted.path("copy"));
  writeFileSync(posted.path("parley.db"), copy);
  expect(await posted.server.stop()).toBe(4);
  expect(readFileSync(posted.path("parley.db")).equals(copy)).toBe(true);
});

test("a second server is refused, however the first one's lock was removed", async () => {
  await using server = await startServer();
  // It cannot notice anything for now.
  process.kill(server.pid, "SIGSTOP");
  rmSync(join(server.dataDir, "server.lock"));
  expect(() => holdServerLock(server.dataDir)).toThrow(/Another parley is serving/);
  const { status, message } = await runRefused(server.dataDir, ["serve", "--port", "0"]);
  expect({ status, message }).toMatchObject({
    status: 1,
    message: expect.stringContaining("Another parley"),
  });
  process.kill(server.pid, "SIGCONT");
  expect(await server.ended()).toBe(4);
});

test("checkpoints and VACUUM by other programs do not stop the server", async () => {
  await using posted = await Posted.start();
  for (const mode of ["PASSIVE", "RESTART", "TRUNCATE"]) {
    await posted.acknowledges(100);
    using other = new SqliteFile(posted.path("parley.db"));
    other.run("PRAGMA busy_timeout = 5000");
    other.run(`PRAGMA wal_checkpoint(${mode})`);
    other.run("VACUUM");
  }
  await posted.acknowledges(100);
  // A look comes once a second.
  const lookedAt = Date.now() + 2_500;
  await until("it was looked at twice", () => Date.now() > lookedAt);
  await posted.acknowledges(10);
  expect(await posted.server.stop()).toBe(0);
});

test("a server whose data folder is removed exits instead of staying up half dead", async () => {
  using folder = temporaryFolder();
  await (await openWorkspace(folder.path))[Symbol.asyncDispose]();
  await using server = await startServer({ dataDir: folder.path });
  rmSync(server.dataDir, { recursive: true });
  expect(await server.ended()).toBe(4);
  expect(await server.logLine(({ msg }) => msg === "files.lost")).toMatchObject({ level: 60 });
});
