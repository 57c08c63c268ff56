import { Database as SqliteFile } from "bun:sqlite";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { migrations } from "../database/migrations.ts";
import { holdServerLock, serverLockWaitMs } from "../database/server-lock.ts";
import { DomainError } from "../errors.ts";
import { freeBytes } from "../system/disk-space.ts";
import { flush, makeFolder } from "../system/on-disk.ts";
import { version } from "../version.ts";
import { type Archive, openArchive } from "./archive.ts";
import type { Manifest } from "./manifest.ts";
import { exchangeFiles, finishPendingRestore, giveToOwnerOf, hasPendingRestore } from "./pending-restore.ts";
import { openKey } from "./sealed-key.ts";
import { factsOf } from "./workspace-facts.ts";

const stagedPrefix = ".restore-";

/** What became of the key file: it came from the backup, the one in the folder stayed, or there is none. */
export type RestoredKey = "restored" | "kept" | "missing";

export type Restored = {
  manifest: Manifest;
  /** The folder with the files that were replaced; null if there were none. */
  kept: string | null;
  key: RestoredKey;
};

type Checking = { onProgress?: (done: number, total: number) => void };

/**
 * Opens a backup that this version can restore.
 * @throws DomainError `invalid` when a newer version made it; what `openArchive` throws.
 */
export function openRestorable(file: string): Archive {
  const archive = openArchive(file);
  const unknown = unknownMigration(archive.manifest.migrations);
  if (unknown === undefined) return archive;
  const { path, manifest } = archive;
  archive[Symbol.dispose]();
  throw new DomainError(
    "invalid",
    `${path} was made by parley ${manifest.parley}, whose data holds ${unknown}. This version, ${version}, does not ` +
      "know it. Nothing was changed. Install that version or a later one, then try again.",
  );
}

/**
 * The text of the key file in the backup; undefined without a passphrase or where there is none.
 * @throws DomainError `invalid` for another passphrase.
 */
export function keyIn({ manifest }: Archive, passphrase: string | undefined): string | undefined {
  return manifest.key === null || passphrase === undefined
    ? undefined
    : openKey(manifest.key, passphrase, manifest.id);
}

/**
 * Writes the database of the backup to `path` and checks it completely.
 * @throws DomainError `invalid` for a damaged backup.
 */
export async function extractChecked(archive: Archive, path: string, checking: Checking): Promise<void> {
  const descriptor = openSync(path, "wx", 0o600);
  try {
    await archive.extractDatabase(descriptor, checking.onProgress);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  requireSound(path, archive);
  for (const ending of ["-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
}

/**
 * Replaces the workspace in the data folder with the one in the backup, after checking all of it on a copy, and keeps
 * what it replaces. It holds the server's lock throughout. If the process is killed, the folder has either the old
 * workspace or the new one as soon as it is next opened. As root the files are given to the owner of the folder.
 * `keyText` replaces the key file if given.
 * @throws DomainError `conflict` while a server uses the folder; `invalid` for a damaged backup; `unwritable` without
 *   room. Nothing is changed then.
 */
export async function restoreBackup(
  archive: Archive,
  dataDir: string,
  keyText: string | undefined,
  checking: Checking = {},
): Promise<Restored> {
  const isNewFolder = !existsSync(dataDir);
  makeFolder(dataDir);
  const hadLockFile = existsSync(join(dataDir, "server.lock"));
  const lock = holdServerLock(dataDir, serverLockWaitMs);
  const id = crypto.randomUUID();
  const staged = join(dataDir, `${stagedPrefix}${id}`);
  let isDone = false;
  try {
    if (hasPendingRestore(dataDir)) finishPendingRestore(dataDir);
    removeLeftovers(dataDir);
    requireRoom(archive, dataDir);
    mkdirSync(staged, { mode: 0o700 });
    await extractChecked(archive, join(staged, "parley.db"), checking);
    if (keyText !== undefined) stageKey(join(staged, "secret.key"), keyText);
    setOwnerAndModes(dataDir, staged);
    const kept = keptName(id);
    exchangeFiles(dataDir, { staged: `${stagedPrefix}${id}`, kept });
    isDone = true;
    const hasKey = existsSync(join(dataDir, "secret.key"));
    return {
      manifest: archive.manifest,
      kept: existsSync(join(dataDir, kept)) ? join(dataDir, kept) : null,
      key: keyText !== undefined ? "restored" : hasKey ? "kept" : "missing",
    };
  } finally {
    if (!isDone && !hasPendingRestore(dataDir)) {
      rmSync(staged, { recursive: true, force: true });
      if (!hadLockFile) rmSync(lock.path, { force: true });
    }
    lock[Symbol.dispose]();
    if (!isDone && isNewFolder) rmdirIfEmpty(dataDir);
  }
}

/** Removes what a restore left that was killed before it decided anything. The lock says that none is at work. */
function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(stagedPrefix)) rmSync(join(dataDir, name), { recursive: true });
  }
}

function requireRoom({ manifest }: Archive, dataDir: string): void {
  const free = freeBytes(dataDir);
  if (free >= manifest.database.bytes) return;
  throw new DomainError(
    "unwritable",
    `The backup needs ${manifest.database.bytes} bytes, since what is replaced is kept, and the disk of ${dataDir} has ` +
      `${free} left. Make room. Nothing was changed.`,
  );
}

function requireSound(path: string, archive: Archive): void {
  const fault = faultIn(path, archive.manifest);
  if (fault === undefined) return;
  throw new DomainError(
    "invalid",
    `The database in ${archive.path} is not sound (${fault}). Use another backup. Nothing was changed.`,
  );
}

function faultIn(path: string, manifest: Manifest): string | undefined {
  try {
    using file = new SqliteFile(path, { readwrite: true, strict: true });
    const [[result] = []] = file.query("PRAGMA integrity_check(1)").values();
    if (result !== "ok") return String(result);
    const [reference] = file.query("PRAGMA foreign_key_check").values();
    if (reference)
      return `a row of ${String(reference[0])} refers to a missing row of ${String(reference[2])}`;
    const facts = factsOf(file);
    if (!facts) return "it holds no workspace";
    return facts.migrations.join() === manifest.migrations.join() ? undefined : "its version is another";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function unknownMigration(names: readonly string[]): string | undefined {
  const known = new Set(migrations.map(({ name }) => name));
  return names.find((name) => !known.has(name));
}

function stageKey(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  flush(path);
}

/** Two restores within a second have different ids. */
function keptName(id: string): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
  return `before-restore-${time}Z-${id.slice(0, 8)}`;
}

/**
 * Gives the new files the modes of those that they replace, or else those that the folder's mode calls for, and as root
 * also the owner and the group of the folder.
 */
function setOwnerAndModes(dataDir: string, staged: string): void {
  const isForGroup = (statSync(dataDir).mode & 0o020) !== 0;
  for (const [name, mode] of [
    ["parley.db", isForGroup ? 0o660 : 0o600],
    ["secret.key", isForGroup ? 0o640 : 0o600],
  ] as const) {
    const path = join(staged, name);
    if (!existsSync(path)) continue;
    const replaced = statSync(join(dataDir, name), { throwIfNoEntry: false });
    chmodSync(path, replaced ? replaced.mode & 0o777 : mode);
    giveToOwnerOf(dataDir, path);
  }
  giveToOwnerOf(dataDir, join(dataDir, "server.lock"));
}

function rmdirIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Somebody else has put something into it.
  }
}
