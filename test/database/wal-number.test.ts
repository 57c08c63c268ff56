import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { requireOwnLog } from "../../src/database/wal-number.ts";
import { migrate } from "../../src/database/migrate.ts";
import { migrations } from "../../src/database/migrations.ts";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { Random } from "../crash/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const steps = 30;

/** Copies the files as a crash would leave them now into a folder of their own; returns the database's path there. */
function crashCopy(path: string, folder: string): string {
  mkdirSync(folder);
  const copy = join(folder, "parley.db");
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  return copy;
}

/** Overwrites a value in the database; one time in five with a value as large as the WAL may grow. */
async function change(database: Database, random: Random, step: number): Promise<void> {
  const bytes = step % 5 === 4 ? 4_500_000 : random.pick([10, 3_000, 300_000]);
  await database.write((tx) =>
    tx.run(sql`INSERT INTO secret_key VALUES (1, randomblob(${bytes}))
      ON CONFLICT DO UPDATE SET check_value = excluded.check_value`),
  );
}

/** The database's content, as SQLite reads it. */
function contentOf(path: string) {
  using file = new SqliteFile(path);
  file.run("PRAGMA synchronous = OFF");
  return {
    damage: file.query("PRAGMA integrity_check").values(),
    value: file
      .query("SELECT check_value FROM secret_key")
      .values()
      .flat()
      .map((value) => Bun.hash(value as Uint8Array)),
  };
}

function isRefused(path: string): boolean {
  try {
    requireOwnLog(path);
    return false;
  } catch (error) {
    expect(String(error)).toContain("next to it was written for");
    return true;
  }
}

test("after a crash a WAL is accepted for its file, and rejected for states that it does not complete", async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path);
  const older: string[] = [];
  let refusals = 0;
  for (let step = 0; step < steps; step++) {
    await change(database, random, step);
    const copy = crashCopy(path, join(folder.path, String(step)));
    expect(isRefused(copy), `seed ${random.seed}, step ${step}`).toBe(false);
    const mixes = older.slice(-4).map((before, index) => {
      const mixed = join(folder.path, `${step} mixed ${index}.db`);
      copyFileSync(before, mixed);
      copyFileSync(`${copy}-wal`, `${mixed}-wal`);
      return isRefused(mixed) ? "refused" : contentOf(mixed);
    });
    const whole = contentOf(copy);
    expect(whole.damage).toEqual([["ok"]]);
    for (const mix of mixes) expect(mix, `seed ${random.seed}, step ${step}`).toBeOneOf(["refused", whole]);
    if (mixes.includes("refused")) refusals += 1;
    older.push(join(folder.path, `${step} older.db`));
    copyFileSync(path, older.at(-1) ?? "");
  }
  expect(refusals).toBeGreaterThan(steps / 6);
  await database.close();
});

test("a WAL that other programs or older versions wrote or checkpointed is not rejected", async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  using other = new SqliteFile(path, { create: true });
  other.run("PRAGMA journal_mode = WAL");
  migrate(other, migrations);
  const statements = [
    "INSERT INTO secret_key VALUES (1, randomblob(9)) ON CONFLICT DO UPDATE SET check_value = excluded.check_value",
    "PRAGMA wal_checkpoint(PASSIVE)",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "VACUUM",
  ];
  let database = openDatabase(path);
  for (let step = 0; step < steps; step++) {
    const dice = random.between(0, 9);
    if (dice < 5) await change(database, random, step);
    else if (dice < 9) other.run(random.pick(statements));
    else {
      await database.close();
      database = openDatabase(path);
    }
    const copy = crashCopy(path, join(folder.path, String(step)));
    expect(isRefused(copy), `seed ${random.seed}, step ${step}`).toBe(false);
    expect(database.file.watched.look(), `seed ${random.seed}, step ${step}`).toBeUndefined();
  }
  await database.close();
});

test("a write that only tries the disk begins a WAL that matches its file", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path);
  const random = new Random(1);
  for (const step of [1, 2]) await change(database, random, step);
  {
    // As the end of a command does beside a server.
    using other = new SqliteFile(path);
    other.run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  await Promise.all([database.probeWrite(), database.probeWrite()]);
  expect(isRefused(crashCopy(path, join(folder.path, "copy")))).toBe(false);
  await database.close();
});
