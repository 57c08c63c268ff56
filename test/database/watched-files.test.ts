import { expect, test } from "bun:test";
import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/database/open.ts";
import { createTeam } from "../../src/teams/teams.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Copies the newest first page from the WAL into the file, as a process does that cannot complete its checkpoint. */
function copyFirstPage(path: string): void {
  const log = readFileSync(`${path}-wal`);
  let found = 0;
  for (let at = 32; at < log.length; at += 24 + 4_096) if (log.readUInt32BE(at) === 1) found = at + 24;
  expect(found).toBeGreaterThan(0);
  // In another process: closing the file here would release this process's locks.
  const copy = ["conv=notrunc", "bs=4096", "count=1", "iflag=skip_bytes", `skip=${found}`, "status=none"];
  expect(Bun.spawnSync(["dd", `if=${path}-wal`, `of=${path}`, ...copy]).exitCode).toBe(0);
}

test("another process's checkpoint that a full disk interrupts is no reason to stop", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path);
  await database.write((tx) => createTeam(tx, { name: "Acme", owner: "Ada" }, "cli:test"));
  copyFirstPage(path);
  expect(await database.file.watched.lookUntilCertain()).toBeUndefined();
  await database.write((tx) => createTeam(tx, { name: "Beta", owner: "Ada" }, "cli:test"));
  await database.close();
});

test("a file whose modification time alone changed is not mistaken for another one", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path);
  await database.write((tx) => createTeam(tx, { name: "Acme", owner: "Ada" }, "cli:test"));
  utimesSync(path, new Date(0), new Date(0));
  expect(await database.file.watched.lookUntilCertain()).toBeUndefined();
  await database.close();
});
