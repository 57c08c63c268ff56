import { Database as SqliteFile } from "bun:sqlite";
import {
  accessSync,
  constants,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { copyDatabase, type Copying } from "../database/snapshot.ts";
import { DomainError } from "../errors.ts";
import { keyFile } from "../secrets/key-file.ts";
import { freeBytes } from "../system/disk-space.ts";
import { hasCode } from "../system/error-code.ts";
import { flush } from "../system/on-disk.ts";
import { readTrusted } from "../system/trusted-files.ts";
import { timestamp } from "../timestamp.ts";
import { version } from "../version.ts";
import { databaseOffset, finishArchive } from "./archive.ts";
import { formatVersion, type Manifest } from "./manifest.ts";
import { sealKey } from "./sealed-key.ts";
import { factsOf, isKeyRotating, type WorkspaceFacts } from "./workspace-facts.ts";

/** What a backup needs beyond the database, in bytes. */
const otherBytes = 1024 * 1024;

/** The ending of a file that is still being written. */
const partialEnding = ".partial";

/** Where the key of a new backup is: sealed in it, left out of it, or nowhere in the data folder. */
export type KeyInBackup = "sealed" | "left_out" | "not_in_folder";

export type BackupMade = { file: string; bytes: number; manifest: Manifest; key: KeyInBackup };

/**
 * Makes a backup of the workspace in the data folder while it may be in use, for its owner alone (mode 0600). The file
 * is written under another name and renamed, so it exists completely or not at all, and is on disk when this returns.
 * `passphrase` seals the key file into it; without one the key is left out. `replaces` says whether an existing file may
 * be replaced.
 * @throws DomainError `not_found` without a workspace or a folder for the file; `conflict` for an existing file, and for
 *   a key that is to be sealed while it is being rotated;
 *   `invalid` for a file in the data folder; `forbidden` and `unwritable` for a folder that cannot be written to, and
 *   `unwritable` without room; what `copyDatabase` throws.
 */
export async function makeBackup(options: {
  dataDir: string;
  file: string;
  baseUrl: string;
  passphrase?: string | undefined;
  replaces: boolean;
  copying: Copying;
}): Promise<BackupMade> {
  const { dataDir, baseUrl, passphrase, replaces, copying } = options;
  const file = resolve(options.file);
  const databasePath = join(dataDir, "parley.db");
  if (!existsSync(databasePath)) throw noWorkspace(dataDir);
  requireBackupPlace(dataDir, file);
  if (!replaces && exists(file)) throw alreadyThere(file);
  requireRoom(databasePath, file);

  const partial = `${file}.${crypto.randomUUID()}${partialEnding}`;
  const descriptor = openIn(dirname(file), partial);
  try {
    fchmodSync(descriptor, 0o600);
    const target = { descriptor, offset: databaseOffset };
    const describe = (sqlite: Parameters<typeof factsOf>[0]) => ({
      facts: factsOf(sqlite),
      isRotating: isKeyRotating(sqlite),
    });
    const keyBefore = readTrusted(keyFile(dataDir), "PARLEY_SECRET_KEY");
    const { described, ...database } = await copyDatabase(databasePath, target, describe, copying);
    if (!described.facts) throw noWorkspace(dataDir);
    const manifest = newManifest(described.facts, database, baseUrl);
    const key = readTrusted(keyFile(dataDir), "PARLEY_SECRET_KEY");
    // One key would not open every secret of this copy, which may have commits that came after its description.
    const isRotating = described.isRotating || key !== keyBefore || isRotatingNow(databasePath);
    if (passphrase !== undefined && isRotating) throw keyChanging();
    if (key !== undefined && passphrase !== undefined) manifest.key = sealKey(key, passphrase, manifest.id);
    const bytes = finishArchive(descriptor, manifest);
    ftruncateSync(descriptor, bytes);
    fsyncSync(descriptor);
    putInPlace(partial, file, replaces);
    const keyInBackup = key === undefined ? "not_in_folder" : manifest.key ? "sealed" : "left_out";
    return { file, bytes, manifest, key: keyInBackup };
  } catch (error) {
    // Whatever fills the disk of the data folder meanwhile is an error of SQLite's.
    throw hasCode(error, "ENOSPC", "EDQUOT", "EFBIG") ? noRoom(file) : error;
  } finally {
    closeSync(descriptor);
    rmSync(partial, { force: true });
  }
}

function isRotatingNow(databasePath: string): boolean {
  using file = new SqliteFile(databasePath, { readwrite: true, strict: true });
  file.run("PRAGMA busy_timeout = 5000");
  return isKeyRotating(file);
}

function openIn(folder: string, partial: string): number {
  return usingFolder(folder, () => {
    // The folder is flushed at the end, which takes reading it: better refused now than after the work.
    accessSync(folder, constants.R_OK);
    return openSync(partial, "wx+", 0o600);
  });
}

/** Runs the step, and says what to do where this login may not use the folder. */
function usingFolder<Result>(folder: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (hasCode(error, "EROFS"))
      throw new DomainError(
        "unwritable",
        `${folder} is read-only for this process. A server under systemd writes there only with ` +
          `ReadWritePaths=${folder} in its unit (systemctl edit parley). Otherwise mount it read-write.`,
      );
    if (hasCode(error, "EACCES", "EPERM"))
      throw new DomainError(
        "forbidden",
        `This login may not read and write in ${folder}. Give the folder to it (chown), or choose another one.`,
      );
    throw error;
  }
}

/** Whether the data folder has a key file, which a passphrase can seal into a backup. */
export function hasKeyToSeal(dataDir: string): boolean {
  return existsSync(keyFile(dataDir));
}

/** Whether there is anything at the path. */
export function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/**
 * Rejects a place for a backup that would harm the data: the data folder, any folder in it, and anything that is no
 * regular file.
 * @throws DomainError `invalid`; `not_found` when its folder does not exist; `forbidden` when this login may not enter it.
 */
export function requireBackupPlace(dataDir: string, file: string): void {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new DomainError("not_found", `There is no folder ${folder} for the backup.`);
  const data = statSync(dataDir, { bigint: true, throwIfNoEntry: false });
  if (!data) throw noWorkspace(dataDir);
  for (let at = realpathSync(folder); ; at = dirname(at)) {
    const { dev, ino } = statSync(at, { bigint: true });
    if (dev === data.dev && ino === data.ino) {
      throw new DomainError(
        "invalid",
        `${file} is in the data folder ${dataDir}. A backup belongs elsewhere, best on another disk: what destroys the ` +
          "folder would destroy it too.",
      );
    }
    if (at === dirname(at)) break;
  }
  const there = usingFolder(folder, () => lstatSync(file, { throwIfNoEntry: false }));
  if (there && !there.isFile()) throw new DomainError("invalid", `${file} is not a regular file.`);
}

function requireRoom(databasePath: string, file: string): void {
  const needed = statSync(databasePath).size + otherBytes;
  const free = freeBytes(dirname(file));
  if (free >= needed) return;
  throw new DomainError(
    "unwritable",
    `The backup needs about ${needed} bytes, and the disk of ${dirname(file)} has ${free} left. Make room, or write ` +
      "it to another disk.",
  );
}

function noRoom(file: string): DomainError {
  return new DomainError(
    "unwritable",
    `The disk of ${dirname(file)} filled up, or takes no file as large as the backup. There is no backup. Make room, ` +
      "or write it to another disk.",
  );
}

function newManifest(
  { workspace, teams, migrations }: WorkspaceFacts,
  { bytes, sha256 }: { bytes: number; sha256: string },
  baseUrl: string,
): Manifest {
  return {
    format: formatVersion,
    id: Bun.randomUUIDv7(),
    workspace,
    parley: version,
    created_at: timestamp(Date.now()),
    base_url: baseUrl,
    migrations,
    teams,
    database: { bytes, sha256 },
    key: null,
  };
}

/** Gives the finished file its name. */
function putInPlace(partial: string, file: string, replaces: boolean): void {
  if (replaces) {
    renameSync(partial, file);
  } else {
    try {
      // Unlike a rename, this never replaces a file that somebody else has made meanwhile.
      linkSync(partial, file);
    } catch (error) {
      if (hasCode(error, "EEXIST")) throw alreadyThere(file);
      // File systems without hard links.
      renameSync(partial, file);
    }
  }
  flush(dirname(file));
}

function noWorkspace(dataDir: string): DomainError {
  return new DomainError("not_found", `There is no workspace in ${dataDir} to back up.`);
}

function keyChanging(): DomainError {
  return new DomainError(
    "conflict",
    "The key was being rotated, so this backup would need two keys. Finish that first (parley secrets rotate-key) and " +
      "try again, or leave the key out: --without-key",
  );
}

function alreadyThere(file: string): DomainError {
  return new DomainError(
    "conflict",
    `${file} exists already. Choose another name, or replace it with --yes.`,
  );
}
