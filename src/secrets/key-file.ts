import { existsSync, readdirSync, renameSync, rmSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DomainError } from "../errors.ts";
import { keyBytes, parseKey } from "../input/secret-key.ts";
import { hasCode } from "../system/error-code.ts";
import { flush, writeFileOnce } from "../system/on-disk.ts";
import { randomBytes } from "../system/repeatable.ts";
import { readTrusted } from "../system/trusted-files.ts";
import { keyName, keyOf, KeyRing } from "./key-ring.ts";

/** A key of a rotation under the name that `writeFileOnce` gives it at first. */
const unfinishedKey = /^secret\.key\.(?:new|old-[0-9a-f]{8})\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The keys that signing secrets may be encrypted with. Its own is `PARLEY_SECRET_KEY` if set, otherwise the key file
 * in the data folder; the other is the new key of a rotation. Without any, the operation that needs a secret reports
 * that, and everything else works. A key file that an operator has just restored is on disk when
 * this returns, before anything is encrypted with it.
 * @throws DomainError `invalid` when a file does not contain a key, is a link, or may have been written by somebody
 *   else.
 */
export function findKey(dataDir: string, fromSettings: string): KeyRing {
  const files = fromSettings === "" ? [newKeyFile(dataDir), keyFile(dataDir)] : [newKeyFile(dataDir)];
  const find = () => {
    // The new key first: its file takes the place of the other, and would be missed between the two reads.
    const next = readKey(newKeyFile(dataDir));
    const own = fromSettings === "" ? readKey(keyFile(dataDir)) : parseKey(fromSettings);
    return { own, next };
  };
  const ring = new KeyRing(find, () => files.map(identity).join(" "));
  if (fromSettings === "" && existsSync(keyFile(dataDir))) {
    flush(keyFile(dataDir));
    flush(dataDir);
  }
  return ring;
}

/**
 * Creates the key file of a new data folder, for its owner alone (mode 0600) and on disk. Keeps an existing one.
 * @throws the operating system's error.
 */
export function createKeyFile(dataDir: string): void {
  const path = keyFile(dataDir);
  if (!existsSync(path)) writeFileOnce(path, textOf(randomKey()));
}

/** Returns a new random key. */
export function randomKey(): Buffer {
  return randomBytes(keyBytes);
}

/** The path of a data folder's key file. It is created with the first team, after the tables. */
export function keyFile(dataDir: string): string {
  return join(dataDir, "secret.key");
}

/**
 * The path of the key that a rotation encrypts with. It becomes the key file at the end; if the key is in the settings,
 * it stays until the settings have it.
 */
export function newKeyFile(dataDir: string): string {
  return join(dataDir, "secret.key.new");
}

/** The key in that file; undefined when there is no file. Throws as `findKey`. */
export function readKey(path: string): Buffer | undefined {
  const text = readTrusted(path, "PARLEY_SECRET_KEY");
  if (text === undefined) return undefined;
  const key = parseKey(text.trim());
  if (key) return key;
  throw new DomainError(
    "invalid",
    `${path} does not hold a key (${keyBytes} bytes in base64). Restore the right one from a backup.`,
  );
}

/**
 * Writes the new key of a rotation, on disk when this returns, for those who can read the file of the old one.
 * @throws DomainError `forbidden` when this login cannot give the file to the owner of the old one; the operating
 *   system's error.
 */
export function writeNewKey(dataDir: string, key: Buffer): void {
  writeKey(newKeyFile(dataDir), key, ownership(dataDir));
}

/**
 * Makes the new key's file the key file and keeps the old key's; both are on disk when this returns. Nothing changes if
 * it was done before. A key is never without a file at any moment in between.
 */
export function installNewKey(dataDir: string): void {
  if (!existsSync(newKeyFile(dataDir))) return;
  const old = readKey(keyFile(dataDir));
  if (old) keepAside(dataDir, old);
  renameSync(newKeyFile(dataDir), keyFile(dataDir));
  flush(dataDir);
}

/** Keeps a key that is no longer in use in a file of its own. Returns its path. */
export function keepAside(dataDir: string, key: Buffer): string {
  const path = oldKeyFile(dataDir, keyOf(key).checkValue);
  if (!existsSync(path)) writeKey(path, key, ownership(dataDir));
  return path;
}

/** The path that a rotation keeps an old key under. */
export function oldKeyFile(dataDir: string, checkValue: Buffer): string {
  return join(dataDir, `secret.key.old-${keyName(checkValue)}`);
}

/** Removes the copies of keys that a rotation left which was killed while it wrote them. Call this when none is at work. */
export function removeUnfinishedKeys(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (unfinishedKey.test(name)) rmSync(join(dataDir, name), { force: true });
  }
}

/** Removes the new key's file once the settings have that key. */
export function forgetNewKey(dataDir: string): void {
  rmSync(newKeyFile(dataDir), { force: true });
  flush(dataDir);
}

function writeKey(path: string, key: Buffer, like: Stats): void {
  try {
    writeFileOnce(path, textOf(key), like);
  } catch (error) {
    if (!hasCode(error, "EPERM")) throw error;
    throw new DomainError(
      "forbidden",
      `Only the owner of ${dirname(path)}/secret.key, or root, can rotate the key.`,
    );
  }
}

/** Whose a key's file is, and who may read it: as the key file, or else as the database, which nobody else may write. */
function ownership(dataDir: string): Stats {
  const key = statSync(keyFile(dataDir), { throwIfNoEntry: false });
  if (key) return key;
  // On PostgreSQL there is only the folder.
  const other = statSync(join(dataDir, "parley.db"), { throwIfNoEntry: false }) ?? statSync(dataDir);
  other.mode &= 0o640;
  return other;
}

function textOf(key: Buffer): string {
  return `${key.toString("base64")}\n`;
}

/** Changes when the file is replaced or rewritten. */
function identity(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? `${stats.ino}:${stats.mtimeMs}:${stats.size}` : "";
}
