import { expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type State = {
  last: { file: string } | null;
  failed: { reason: string } | null;
  schedule: { every_ms: number; keep: number; folder: string; passphrase_file: string | null } | null;
};

const generous = { timeout_ms: 30_000 };

test.concurrent("a schedule makes backups while the server runs, keeps the last ones, and removes only its own", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  const strangers = ["parley-0123456789ab-anywhere-2026-01-01T00-00-00Z.tar", "mine.tar"];
  for (const name of strangers) writeFileSync(join(to, name), "not of this workspace");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await using server = await startServer({ dataDir });
  const set = ["backup", "--every", "1s", "--keep", "2", "--to", to];
  const { stdout } = await run(dataDir, set);
  expect(stdout).toContain("The key is not in them");

  const made = () => server.logLines().filter((line) => line.includes('"backup.made"')).length;
  await until("three backups are made", () => made() >= 4, generous);
  await runJson(dataDir, ["backup", "--every", "off"]);
  const state = await runJson<State>(dataDir, ["backup"]);
  expect(state.schedule).toBeNull();
  await server.stop();
  const names = readdirSync(to);
  expect(names).toEqual(expect.arrayContaining(strangers));
  const own = names.filter((name) => !strangers.includes(name));
  expect(own.length).toBe(2);
  await runJson(join(folder.path, "restored"), ["restore", join(to, own[0] ?? "")]);
  const audit = await runJson<Array<{ action: string }>>(dataDir, ["audit", "list"]);
  expect(audit.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["backup.scheduled", "backup.unscheduled"]),
  );
}, 90_000);

test.concurrent("a time that was missed is made up for at the start, with the key if a passphrase file is named", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  writeFileSync(join(folder.path, "passphrase"), "correct horse battery staple");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  const { schedule } = await runJson<State>(dataDir, [
    "backup",
    "--every",
    "6h",
    "--to",
    to,
    "--passphrase-file",
    join(folder.path, "passphrase"),
  ]);
  expect(schedule).toMatchObject({ every_ms: 6 * 3_600_000, keep: 14, folder: to });
  await using server = await startServer({ dataDir });
  const line = await until(
    "the backup is made",
    () => server.logLines().find((each) => each.includes('"backup.made"')),
    generous,
  );
  expect(JSON.parse(line)).toMatchObject({ key: "sealed" });
  const { last } = await runJson<State>(dataDir, ["backup"]);
  expect(last?.file).toStartWith(`${to}/parley-`);
}, 60_000);

test.concurrent("a backup of the schedule that fails is logged and shown with its reason", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await runJson(dataDir, ["backup", "--every", "6h", "--to", to]);
  rmSync(to, { recursive: true });
  await using server = await startServer({ dataDir });
  const isLogged = () => server.logLines().some((each) => each.includes('"backup.failed"'));
  await until("the failure is logged", isLogged, generous);
  const state = await until(
    "the failure is shown",
    async () => {
      const found = await runJson<State>(dataDir, ["backup"]);
      return found.failed ? found : undefined;
    },
    generous,
  );
  expect(state.failed?.reason).toContain("There is no folder");
}, 60_000);

test.concurrent("a database that takes no note of its backups does not get one after the other", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await runJson(dataDir, ["backup", "--every", "6h", "--to", to]);
  {
    using file = new Database(join(dataDir, "parley.db"), { strict: true });
    file.run(
      "CREATE TRIGGER full BEFORE INSERT ON backup_results BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );
  }
  await using server = await startServer({ dataDir });
  const failures = () => server.logLines().filter((line) => line.includes('"backup.failed"')).length;
  await until("the note fails", () => failures() > 0, generous);
  // The schedule is read each second.
  const since = performance.now();
  await until("it was read again", () => failures() > 1 || performance.now() > since + 3_000, generous);
  expect({ failures: failures(), backups: readdirSync(to).length }).toEqual({ failures: 1, backups: 1 });

  {
    using file = new Database(join(dataDir, "parley.db"), { strict: true });
    file.run("PRAGMA busy_timeout = 30000");
    file.run("DROP TRIGGER full");
  }
  await runJson(dataDir, ["backup", "--every", "6h", "--to", to]);
  const isMade = () => server.logLines().some((line) => line.includes('"backup.made"'));
  await until("the schedule that was given again begins at once", isMade, generous);
}, 60_000);

test.concurrent("backups that were made by a clock that was ahead are the first to be removed", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await runJson(dataDir, ["backup", "--every", "6h", "--to", to]);
  await using server = await startServer({ dataDir });
  const made = () => server.logLines().filter((line) => line.includes('"backup.made"'));
  await until("the first backup is made", () => made().length === 1, generous);
  const [first = ""] = readdirSync(to);
  const ahead = ["2096", "2097"].map((year) => first.replace(/\d{4}(?=-\d\d-\d\dT)/, year));
  for (const name of ahead) copyFileSync(join(to, first), join(to, name));
  await runJson(dataDir, ["backup", "--every", "6h", "--keep", "2", "--to", to]);
  const line = await until("the second backup is made", () => made()[1], generous);
  const { file } = JSON.parse(line) as { file: string };
  expect(readdirSync(to).toSorted()).toEqual([first, basename(file)]);
}, 60_000);

test.concurrent("a server stops even while a backup hangs, as on a network disk that is gone", async () => {
  using folder = temporaryFolder();
  const [dataDir, to] = [join(folder.path, "data"), join(folder.path, "to")];
  mkdirSync(to);
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  await using server = await startServer({ dataDir });
  // Often, since one may be over before it is found.
  await runJson(dataDir, ["backup", "--every", "1s", "--to", to]);
  const { pid } = server;
  const hung = await until("a backup is halted", () => haltBackupOf(pid), generous);
  expect(await server.stop()).toBe(0);
  await until("the backup is over, too", () => hasEnded(hung), generous);
}, 60_000);

test.concurrent("a schedule needs a folder outside of the data folder, and a FILE contradicts it", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await runJson(dataDir, ["init", "--team", "Acme", "--owner", "Ada"]);
  for (const [args, status] of [
    [["--every", "6h"], 2],
    [["--every", "6h", "--to", join(folder.path, "nowhere")], 3],
    [["--every", "6h", "--to", dataDir], 1],
    [["--every", "6h", "--to", folder.path, "a.tar"], 2],
    [["--keep", "3"], 2],
    [["--every", "often", "--to", folder.path], 2],
  ] as const) {
    expect({ args, status: (await runRefused(dataDir, ["backup", ...args])).status }).toEqual({
      args,
      status,
    });
  }
});

/** Halts a backup that the server makes, so that it does not even end, and returns its process; undefined without one. */
function haltBackupOf(server: number): number | undefined {
  const [child = 0] = readFileSync(`/proc/${server}/task/${server}/children`, "utf8").split(" ").map(Number);
  try {
    if (child === 0 || !readFileSync(`/proc/${child}/cmdline`, "utf8").includes("backup")) return undefined;
    process.kill(child, "SIGSTOP");
    return /^State:\s+T/m.test(readFileSync(`/proc/${child}/status`, "utf8")) ? child : undefined;
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** Whether the process has ended, whoever has yet to take note of it. */
function hasEnded(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}
