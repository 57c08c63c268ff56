import { Database as SqliteFile } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeBackup } from "../../src/backup/backup.ts";
import { onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { contentOf } from "../support/data-folder.ts";
import { openPipe } from "../support/pipe.ts";
import { parley, startServer } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const passphrase = "correct horse battery staple";

type Made = { file: string; bytes: number; created_at: string; key: string };

test("a disk that fills up under a backup is named, and nothing is left on it", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  const backups = join(folder.path, "backups");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  mkdirSync(backups);
  // What is in the log only is more than the size of the database said.
  using file = new SqliteFile(join(dataDir, "parley.db"));
  file.run("PRAGMA wal_autocheckpoint = 0");
  file.run("CREATE TABLE filling AS SELECT randomblob(4000000)");
  const script =
    'mount -t tmpfs -o size=2m none "$1" && "$2" --data-dir "$3" backup "$1/a.tar" --without-key; ls "$1"';
  const within = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"];
  const child = Bun.spawn([...within, backups, parley, dataDir], { stdout: "pipe", stderr: "pipe" });
  expect(await child.stderr.text()).toContain(`The disk of ${backups} filled up`);
  expect(await child.stdout.text()).toBe("");
});

test("a backup under write load fails no request and has every message that was acknowledged before it", async () => {
  using folder = temporaryFolder();
  await using server = await startServer();
  const { token, channel } = await fillWorkspace(server.dataDir);
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const post = async () => {
    while (!isOver) {
      const response = await fetch(`${server.url}/api/v1/channels/${channel}/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ body: "posted while a backup was made" }),
      });
      const { data } = (await response.json()) as { data: { id: string } };
      statuses.add(response.status);
      acknowledged.push(data.id);
    }
  };
  const posting = Promise.all(Array.from({ length: 8 }, post));
  const backups: Array<{ file: string; before: string[] }> = [];
  for (let number = 1; number <= 4; number++) {
    const before = [...acknowledged];
    const file = join(folder.path, `${number}.tar`);
    await runJson<Made>(server.dataDir, ["backup", file, "--without-key"]);
    backups.push({ file, before });
  }
  isOver = true;
  await posting;
  expect([...statuses]).toEqual([201]);

  for (const [index, { file, before }] of backups.entries()) {
    const dataDir = join(folder.path, `restored-${index}`);
    await runJson(dataDir, ["restore", file]);
    using restored = new SqliteFile(join(dataDir, "parley.db"), { readonly: true });
    const ids = restored
      .query<{ id: string }, [string]>("SELECT id FROM messages WHERE channel_id = ? ORDER BY position")
      .all(channel)
      .map(({ id }) => id);
    expect(new Set(ids).intersection(new Set(before)).size).toBe(before.length);
    const { last } = restored
      .query<{ last: number }, [string]>("SELECT last_position AS last FROM channels WHERE id = ?")
      .get(channel) ?? { last: -1 };
    expect(ids.length).toBe(last);
  }
}, 180_000);

/** A workspace of 20 MB, and a token that may post in its channel. */
async function fillWorkspace(dataDir: string): Promise<{ token: string; channel: string }> {
  await using workspace = await openWorkspace(dataDir);
  const { owner, general, id } = await workspace.team("Acme");
  const archive = await workspace.channel(owner, "archive");
  const bot = await workspace.bot(id, "Build Bot", [general]);
  const { token } = await workspace.token(bot);
  using file = new SqliteFile(join(dataDir, "parley.db"));
  file.run("PRAGMA busy_timeout = 5000");
  file.transaction(() => {
    file.run(
      `INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        SELECT lower(hex(randomblob(16))), ?, n, ?, 'standard', hex(randomblob(1000)), 0 FROM numbers`,
      [archive.id, owner.id],
    );
    file.run("UPDATE channels SET last_position = 10000 WHERE id = ?", [archive.id]);
  })();
  return { token, channel: general.id };
}

test("a backup whose key began to be rotated while it was made is refused, since it would need two keys", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  const beginRotation = () => {
    using file = new SqliteFile(join(dataDir, "parley.db"), { strict: true });
    file.run("INSERT OR IGNORE INTO key_rotation VALUES (1, x'00', x'01', 0, 'cli:ada')");
  };
  const parts = { dataDir, baseUrl: "", replaces: false, copying: { onProgress: beginRotation } };
  const [sealed, plain] = ["sealed", "plain"].map((name) => join(folder.path, `${name}.tar`)) as [
    string,
    string,
  ];
  const refused: unknown = await makeBackup({ ...parts, file: sealed, passphrase }).catch(
    (error: unknown) => error,
  );
  expect(String(refused)).toContain("The key was being rotated");
  await makeBackup({ ...parts, file: plain });
  expect(readdirSync(folder.path).toSorted()).toEqual(["data", "plain.tar"]);
});

describe("a backup", () => {
  let folder: TemporaryFolder;
  let dataDir: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    dataDir = join(folder.path, "data");
    await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
    writeFileSync(join(folder.path, "passphrase"), `${passphrase}\n`);
  });
  afterAll(() => folder[Symbol.dispose]());
  const inFolder = (name: string) => join(folder.path, name);
  const sealing = () => ["--passphrase-file", inFolder("passphrase")];

  test("is for its owner alone and leaves nothing else behind", async () => {
    mkdirSync(inFolder("to"));
    const made = await runJson<Made>(dataDir, ["backup", inFolder("to/a.tar"), ...sealing()]);
    expect(readdirSync(inFolder("to"))).toEqual(["a.tar"]);
    expect(statSync(made.file).mode & 0o777).toBe(0o600);
    expect(statSync(made.file).size).toBe(made.bytes);
  });

  test("reads no endless passphrase from standard input", async () => {
    const script = 'yes | "$0" --data-dir "$1" backup "$2" --passphrase-file -';
    const child = Bun.spawn(["sh", "-c", script, parley, dataDir, inFolder("endless.tar")], {
      stderr: "pipe",
    });
    expect(await child.stderr.text()).toContain("Standard input holds over 4096 bytes");
  });

  test("can be unpacked and checked with tar and sha256sum", async () => {
    const { file } = await runJson<Made>(dataDir, ["backup", inFolder("tar.tar"), "--without-key"]);
    mkdirSync(inFolder("unpacked"));
    const tar = Bun.spawnSync(["tar", "xf", file], { cwd: inFolder("unpacked"), stderr: "pipe" });
    expect({ status: tar.exitCode, stderr: tar.stderr.toString() }).toEqual({ status: 0, stderr: "" });
    const sums = Bun.spawnSync(["sha256sum", "-c", "SHA256SUMS"], {
      cwd: inFolder("unpacked"),
      stderr: "pipe",
    });
    expect({ status: sums.exitCode, stderr: sums.stderr.toString() }).toEqual({ status: 0, stderr: "" });
  });

  test("says whether the key is in it, and never holds the key in the clear", async () => {
    const sealed = await runJson<Made>(dataDir, ["backup", inFolder("sealed.tar"), ...sealing()]);
    const bare = await runJson<Made>(dataDir, ["backup", inFolder("bare.tar"), "--without-key"]);
    expect([sealed.key, bare.key]).toEqual(["sealed", "left_out"]);
    const key = readFileSync(join(dataDir, "secret.key"), "utf8").trim();
    for (const { file } of [sealed, bare]) expect(readFileSync(file, "latin1").includes(key)).toBe(false);
    const { stdout } = await run(dataDir, ["backup", inFolder("said.tar"), "--without-key"]);
    expect(stdout).toContain("The key file is not in it.");
  });

  test("asks what becomes of the key, and without a terminal wants an option that says so", async () => {
    const refused = await runRefused(dataDir, ["backup", inFolder("never.tar")]);
    expect(refused.status).toBe(2);
    expect(refused.message).toContain("--passphrase-file FILE");
    expect(refused.message).toContain("--without-key");
    const both = await runRefused(dataDir, ["backup", inFolder("never.tar"), "--without-key", ...sealing()]);
    expect(both.status).toBe(2);
    await using screen = onTerminal(dataDir, ["backup", inFolder("typed.tar")]);
    await screen.shows("A passphrase to seal the key with");
    screen.type(`${passphrase}\r`);
    await screen.shows("The same passphrase again");
    screen.type(`${passphrase}\r`);
    await screen.shows("sealed with the passphrase");
    expect(await screen.ended()).toBe(0);
    expect(screen.text).not.toContain(passphrase);
  });

  test("refuses a passphrase file that is empty, short, missing or a pipe that nobody writes", async () => {
    openPipe(inFolder("pipe"));
    writeFileSync(inFolder("empty"), "\n");
    writeFileSync(inFolder("short"), "too short\n");
    for (const [name, reason] of [
      ["pipe", "is not a regular file"],
      ["empty", "is empty"],
      ["short", "at least 12 characters"],
      ["missing", "cannot be read"],
    ] as const) {
      const args = ["backup", inFolder("never.tar"), "--passphrase-file", inFolder(name)];
      const refused = await runRefused(dataDir, args);
      expect({ status: refused.status, message: refused.message }).toEqual({
        status: 1,
        message: expect.stringContaining(reason),
      });
    }
    expect(readdirSync(folder.path)).not.toContain("never.tar");
  });

  test("replaces no file without being told to", async () => {
    writeFileSync(inFolder("mine.tar"), "not a backup");
    const refused = await runRefused(dataDir, ["backup", inFolder("mine.tar"), "--without-key"]);
    expect(refused.status).toBe(2);
    expect(readFileSync(inFolder("mine.tar"), "utf8")).toBe("not a backup");
    await runJson(dataDir, ["backup", inFolder("mine.tar"), "--without-key", "--yes"]);
    expect(statSync(inFolder("mine.tar")).size).toBeGreaterThan(100_000);
  });

  test("never goes into the data folder, by whichever name and even if told to replace", async () => {
    symlinkSync(dataDir, inFolder("link"));
    mkdirSync(join(dataDir, "within"));
    const before = contentOf(dataDir);
    for (const file of [
      join(dataDir, "parley.db"),
      join(dataDir, "secret.key"),
      join(dataDir, "within", "a.tar"),
      join(inFolder("link"), "parley.db"),
      join(inFolder("link"), "within", "..", "new.tar"),
    ]) {
      const { status, message } = await runRefused(dataDir, ["backup", file, "--without-key", "--yes"]);
      expect({ status, message }).toEqual({
        status: 1,
        message: expect.stringContaining("is in the data folder"),
      });
    }
    expect(contentOf(dataDir)).toEqual(before);
  });

  test("of a folder without a workspace is refused", async () => {
    mkdirSync(inFolder("nothing"));
    for (const name of ["nothing", "nowhere"]) {
      const refused = await runRefused(inFolder(name), ["backup", inFolder("never.tar"), "--without-key"]);
      expect(refused).toMatchObject({ status: 3, message: expect.stringContaining("no workspace") });
    }
    expect(readdirSync(inFolder("nothing"))).toEqual([]);
  });
});
