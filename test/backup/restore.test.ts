import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chownSync,
  closeSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { finishArchive, openArchive } from "../../src/backup/archive.ts";
import { openRestorable, restoreBackup } from "../../src/backup/restore.ts";
import { version } from "../../src/version.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { contentOf } from "../support/data-folder.ts";
import { parley, startServer } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";

type Team = { name: string };
type Restored = { kept: string | null; key: string };

let folder: TemporaryFolder;
/** A backup with a sealed key, of a workspace with the one team Acme. */
let backup: string;
/** The key file of that workspace. */
let key: string;
/** A data folder with the one team Umbrella, which each test gets a copy of. */
let umbrella: string;

const inFolder = (name: string) => join(folder.path, name);
const opening = () => ["--passphrase-file", inFolder("passphrase")];
const teamsIn = async (dataDir: string) =>
  (await runJson<Team[]>(dataDir, ["teams", "list"])).map(({ name }) => name);

/** A copy of the folder of Umbrella. */
function other(name: string): string {
  cpSync(umbrella, inFolder(name), { recursive: true });
  return inFolder(name);
}

beforeAll(async () => {
  folder = temporaryFolder();
  const acme = inFolder("acme");
  umbrella = inFolder("umbrella");
  backup = inFolder("acme.tar");
  writeFileSync(inFolder("passphrase"), "correct horse battery staple");
  await runJson(acme, ["init", "--team", "Acme", "--owner", "Ada"]);
  await runJson(umbrella, ["init", "--team", "Umbrella", "--owner", "Umar"]);
  await runJson(acme, ["backup", backup, ...opening()]);
  key = readFileSync(join(acme, "secret.key"), "utf8");
});
afterAll(() => folder[Symbol.dispose]());

test("a backup restored into an empty folder boots and answers", async () => {
  const dataDir = inFolder("empty");
  const { kept, key: what } = await runJson<Restored>(dataDir, ["restore", backup, ...opening()]);
  expect({ kept, what }).toEqual({ kept: null, what: "restored" });
  expect(readFileSync(join(dataDir, "secret.key"), "utf8")).toBe(key);
  await using server = await startServer({ dataDir });
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(await teamsIn(dataDir)).toEqual(["Acme"]);
});

test("what is replaced is kept whole, each time in a folder of its own", async () => {
  const dataDir = other("replaced");
  const first = await runJson<Restored>(dataDir, ["restore", backup, "--yes", ...opening()]);
  const second = await runJson<Restored>(dataDir, ["restore", backup, "--yes", "--without-key"]);
  expect(await teamsIn(dataDir)).toEqual(["Acme"]);
  expect(first.kept).not.toBe(second.kept);
  expect(await teamsIn(first.kept ?? "")).toEqual(["Umbrella"]);
  expect(await teamsIn(second.kept ?? "")).toEqual(["Acme"]);
  expect(readFileSync(join(first.kept ?? "", "secret.key"))).toEqual(
    readFileSync(join(umbrella, "secret.key")),
  );
});

test("changes that a killed server left in the log go with the database that they belong to", async () => {
  const dataDir = other("killed");
  await using server = await startServer({ dataDir });
  await runJson(dataDir, ["teams", "create", "--name", "Later"]);
  await server.kill9();
  const { kept } = await runJson<Restored>(dataDir, ["restore", backup, "--yes", "--without-key"]);
  expect(await teamsIn(dataDir)).toEqual(["Acme"]);
  expect((await teamsIn(kept ?? "")).toSorted()).toEqual(["Later", "Umbrella"]);
});

test("without the key the key file that is there stays, and a missing one is said", async () => {
  const dataDir = other("without-key");
  const kept = await runJson<Restored>(dataDir, ["restore", backup, "--yes", "--without-key"]);
  expect(kept.key).toBe("kept");
  expect(readFileSync(join(dataDir, "secret.key"))).toEqual(readFileSync(join(umbrella, "secret.key")));
  const { stdout } = await run(inFolder("no-key"), ["restore", backup, "--without-key"]);
  expect(stdout).toContain("There is no key file");
});

test("the files belong to the owner of the folder, whoever restores", async () => {
  const dataDir = other("owned");
  const owner = process.geteuid?.() === 0 ? 12_345 : (process.geteuid?.() ?? 0);
  if (process.geteuid?.() === 0) chownSync(dataDir, owner, owner);
  await runJson(dataDir, ["restore", backup, "--yes", ...opening()]);
  for (const name of readdirSync(dataDir).filter((each) => each !== "queue.signal")) {
    const { uid, mode } = statSync(join(dataDir, name));
    expect({ name, uid, others: mode & 0o077 }).toEqual({ name, uid: owner, others: 0 });
  }
});

describe("refused, with nothing changed, is", () => {
  async function expectRefused(
    name: string,
    file: string,
    reason: RegExp,
    args = ["--without-key"],
  ): Promise<void> {
    const dataDir = other(name);
    const before = contentOf(dataDir);
    const { status, message } = await runRefused(dataDir, ["restore", file, "--yes", ...args]);
    expect({ status, message }).toEqual({ status: 1, message: expect.stringMatching(reason) });
    expect(contentOf(dataDir)).toEqual(before);
    const empty = inFolder(`${name}-empty`);
    await runRefused(empty, ["restore", file, ...args]);
    expect(readdirSync(folder.path)).not.toContain(`${name}-empty`);
  }

  test("a wrong passphrase", async () => {
    writeFileSync(inFolder("wrong"), "incorrect horse battery staple");
    await expectRefused("wrong-passphrase", backup, /not the passphrase/, [
      "--passphrase-file",
      inFolder("wrong"),
    ]);
  });

  test("a truncated file", async () => {
    const bytes = statSync(backup).size;
    for (const [index, length] of [bytes - 1, bytes - 1024, bytes - 2000, 100_000, 600].entries()) {
      const cut = inFolder(`cut-${index}.tar`);
      copyFileSync(backup, cut);
      truncateSync(cut, length);
      await expectRefused(`truncated-${index}`, cut, /is cut off: it ends after/);
    }
    writeFileSync(inFolder("cut-empty.tar"), "");
    await expectRefused("truncated-empty", inFolder("cut-empty.tar"), /is no backup made by parley/);
  });

  test("a flipped bit in the database", async () => {
    const flipped = inFolder("flipped.tar");
    writeFileSync(flipped, withFlippedBit(readFileSync(backup), 150_000));
    await expectRefused("flipped-bit", flipped, /is damaged: parley\.db/);
  });

  test("a file that is no backup", async () => {
    await expectRefused("no-backup", join(umbrella, "parley.db"), /is no backup made by parley/);
  });

  test("a backup of a newer version, which both versions are named for", async () => {
    const newer = inFolder("newer.tar");
    rewrite(newer, { parley: "9.9.9 (fedcba9)", migrations: ["9999_from_the_future"] });
    const reason = new RegExp(`9\\.9\\.9 \\(fedcba9\\).*${version.split(" ")[0]}`);
    await expectRefused("newer-version", newer, reason);
    rewrite(inFolder("format.tar"), { parley: "9.9.9 (fedcba9)", format: 2 as 1 });
    await expectRefused("newer-format", inFolder("format.tar"), reason);
  });

  test("a restore while a server holds the folder", async () => {
    const dataDir = other("served");
    await using server = await startServer({ dataDir });
    const refused = await runRefused(dataDir, ["restore", backup, "--yes", "--without-key"]);
    expect(refused).toMatchObject({ status: 1, message: expect.stringContaining("serving") });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(readdirSync(dataDir).filter((name) => /restore/.test(name))).toEqual([]);
    expect(await teamsIn(dataDir)).toEqual(["Umbrella"]);
  });

  test("a restore over a workspace that nobody confirmed", async () => {
    const dataDir = other("unconfirmed");
    const before = contentOf(dataDir);
    expect((await runRefused(dataDir, ["restore", backup, ...opening()])).status).toBe(2);
    expect(contentOf(dataDir)).toEqual(before);
  });
});

test("a flipped bit anywhere in the file is noticed", async () => {
  const whole = readFileSync(backup);
  // Each byte of the headers and what follows the database, of which there is little, and a sample of the database.
  const { database } = openArchive(backup).manifest;
  const places = [
    ...Array.from({ length: 512 }, (_, index) => index),
    ...Array.from(
      { length: whole.length - database.bytes - 512 },
      (_, index) => 512 + database.bytes + index,
    ),
    ...Array.from({ length: 40 }, (_, index) => 512 + Math.floor((database.bytes * index) / 40)),
  ];
  const file = inFolder("one-bit.tar");
  writeFileSync(file, whole);
  const descriptor = openSync(file, "r+");
  const target = inFolder("one-bit");
  for (const place of places) {
    const byte = whole.subarray(place, place + 1);
    writeSync(descriptor, withFlippedBit(byte, 0), 0, 1, place);
    const isNoticed = await isRefused(file, target);
    expect({ place, isNoticed }).toEqual({ place, isNoticed: true });
    writeSync(descriptor, byte, 0, 1, place);
  }
  closeSync(descriptor);
  expect(await isRefused(file, target)).toBe(false);
});

/** Whether the restore is refused. */
async function isRefused(file: string, target: string): Promise<boolean> {
  try {
    using archive = openRestorable(file);
    await restoreBackup(archive, target, undefined);
    return false;
  } catch {
    return true;
  }
}

describe("a restore that is killed", () => {
  test("at any moment leaves the old workspace or the new one, and can be run again", async () => {
    for (let number = 0; number < 12; number++) {
      const dataDir = other(`kill-${number}`);
      const child = Bun.spawn([parley, "restore", backup, "--yes", "--without-key"], {
        env: { PARLEY_DATA_DIR: dataDir },
        stdout: "ignore",
        stderr: "ignore",
      });
      // From the first trace of it on, a little later each time.
      await until("the restore has begun or is over", () => child.exitCode !== null || hasBegun(dataDir));
      await Bun.sleep(number);
      child.kill("SIGKILL");
      await child.exited;
      expect(["Acme", "Umbrella"]).toContain((await teamsIn(dataDir)).join());
      await runJson(dataDir, ["restore", backup, "--yes", "--without-key"]);
      expect(await teamsIn(dataDir)).toEqual(["Acme"]);
      expect(readdirSync(dataDir).filter((name) => /^\.restore|restore\.plan/.test(name))).toEqual([]);
    }
  }, 60_000);

  function hasBegun(dataDir: string): boolean {
    return readdirSync(dataDir).some((name) => name.startsWith(".restore"));
  }

  test.each([0, 1, 2, 3, 4])(
    "after %d of its moves is finished by whoever opens the folder next",
    async (moves) => {
      const dataDir = other(`moves-${moves}`);
      const [staged, kept] = [join(dataDir, ".restore-0"), join(dataDir, "before-restore-0")];
      cpSync(inFolder("acme"), staged, { recursive: true });
      rmSync(join(staged, "queue.signal"), { force: true });
      mkdirSync(kept);
      writeFileSync(
        join(dataDir, "restore.plan"),
        JSON.stringify({ staged: ".restore-0", kept: "before-restore-0" }),
      );
      const order: Array<[from: string, to: string]> = ["secret.key", "parley.db"].flatMap((name) => [
        [join(dataDir, name), join(kept, name)],
        [join(staged, name), join(dataDir, name)],
      ]);
      for (const [from, to] of order.slice(0, moves)) renameSync(from, to);
      expect(await teamsIn(dataDir)).toEqual(["Acme"]);
      expect(readFileSync(join(dataDir, "secret.key"), "utf8")).toBe(key);
      expect(await teamsIn(kept)).toEqual(["Umbrella"]);
      expect(readdirSync(dataDir)).not.toContain("restore.plan");
    },
  );
});

function withFlippedBit(bytes: Buffer, at: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[at] = (flipped[at] ?? 0) ^ 0x10;
  return flipped;
}

/** The backup again, with a manifest that says something else and the right sums. */
function rewrite(file: string, changes: Partial<ReturnType<typeof openArchive>["manifest"]>): void {
  copyFileSync(backup, file);
  using archive = openArchive(file);
  const descriptor = openSync(file, "r+");
  truncateSync(file, finishArchive(descriptor, { ...archive.manifest, ...changes }));
  closeSync(descriptor);
}
