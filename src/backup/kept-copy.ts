import { Database as SqliteFile } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { copyDatabaseAtOnce } from "../database/snapshot.ts";
import { DomainError } from "../errors.ts";
import { freeBytes } from "../system/disk-space.ts";
import { flush, writeFileOnce } from "../system/on-disk.ts";
import { giveToOwnerOf } from "./pending-restore.ts";
import { factsOf } from "./workspace-facts.ts";

/** Copies from before this many upgrades are kept. */
const copiesMax = 3;

/** What an upgrade needs beyond the copy, at least, in bytes. */
const spareBytes = 64 * 1024 * 1024;

/** `before-0011_traces-2026-11-22T15-20-00Z`: the first migration that the copy lacks, and when it was made. */
const folderName = /^before-(\d{4}_\w+)-[0-9TZ-]+$/;

/** In the folder of a copy while its upgrade is under way: the names of the migrations that the upgrade applies. */
const unfinishedName = "unfinished";

type KeptCopy = { path: string; first: string; missing: string[] | undefined };

/**
 * Copies the database to a folder of its own in the data folder before its tables change. If an upgrade fails, further
 * tries replace its copy while nothing has changed, and leave it alone once something has: it is the last state that an
 * older version can use. Call this under the server's lock, in a process that does not have the database open.
 * @throws DomainError `unwritable` without room, and then nothing has changed.
 */
export function keepCopy(
  dataDir: string,
  missing: readonly string[],
  onProgress?: (done: number, total: number) => void,
): void {
  const database = join(dataDir, "parley.db");
  const [first] = missing;
  const before = migrationsIn(database);
  if (first === undefined || before === undefined) return;
  finishCopy(dataDir);
  // Another process has upgraded meanwhile, and kept a copy.
  if (missing.every((name) => before.includes(name))) return;
  const unfinished = keptCopies(dataDir).find((copy) => copy.missing);
  if (unfinished?.missing?.some((name) => before.includes(name))) return;
  requireRoom(database);

  const path = unfinished?.first === first ? unfinished.path : newFolder(dataDir, first);
  writeFileOnce(join(path, unfinishedName), `${missing.join("\n")}\n`);
  const partial = join(path, "parley.db.partial");
  rmSync(partial, { force: true });
  const descriptor = openSync(partial, "wx+", 0o600);
  try {
    copyDatabaseAtOnce(database, { descriptor, offset: 0 }, { ...(onProgress && { onProgress }) });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  giveToOwnerOf(dataDir, partial);
  renameSync(partial, join(path, "parley.db"));
  flush(path);
}

/** Call this when the database has been opened: notes which upgrades are complete, and removes the oldest copies. */
export function finishCopy(dataDir: string): void {
  const applied = migrationsIn(join(dataDir, "parley.db")) ?? [];
  for (const { path, missing } of keptCopies(dataDir)) {
    if (missing?.every((name) => applied.includes(name))) rmSync(join(path, unfinishedName));
  }
  const finished = keptCopies(dataDir).filter(({ missing }) => !missing);
  for (const { path } of finished.slice(0, -copiesMax)) rmSync(path, { recursive: true });
}

/** Oldest first. */
function keptCopies(dataDir: string): KeptCopy[] {
  const found = readdirSync(dataDir).flatMap((name) => {
    const [, first] = folderName.exec(name) ?? [];
    return first === undefined ? [] : [{ name, path: join(dataDir, name), first }];
  });
  return found
    .map(({ name, path, first }) => ({ at: name.slice(-20), path, first, missing: missingIn(path) }))
    .sort((one, other) => (one.at < other.at ? -1 : 1));
}

function missingIn(path: string): string[] | undefined {
  const note = join(path, unfinishedName);
  return existsSync(note) ? readFileSync(note, "utf8").trim().split("\n") : undefined;
}

function migrationsIn(database: string): string[] | undefined {
  using file = new SqliteFile(database, { readwrite: true, strict: true });
  file.run("PRAGMA busy_timeout = 5000");
  return factsOf(file)?.migrations;
}

function newFolder(dataDir: string, first: string): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
  const path = join(dataDir, `before-${first}-${time}Z`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  giveToOwnerOf(dataDir, path);
  flush(dataDir);
  return path;
}

function requireRoom(database: string): void {
  const needed = statSync(database).size + spareBytes;
  const free = freeBytes(database);
  if (free >= needed) return;
  throw new DomainError(
    "unwritable",
    `Before an upgrade a copy of the database is kept, which needs ${needed} bytes, and the disk of ${database} has ` +
      `${free} left. Nothing was changed. Make room, or remove copies of earlier upgrades (before-… in the data folder).`,
  );
}
