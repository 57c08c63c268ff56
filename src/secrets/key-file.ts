import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { keyBytes, parseKey } from "../input/secret-key.ts";
import { flush, writeFileOnce } from "../system/on-disk.ts";
import { readTrusted } from "../system/trusted-files.ts";

/**
 * The key that encrypts signing secrets: `PARLEY_SECRET_KEY` if set, otherwise the key file in the data folder.
 * Undefined when there is none; the operation that needs a secret reports that, and everything else works without. A
 * key file that an operator has just restored is on disk when this returns, before anything is encrypted with it.
 * @throws DomainError `invalid` when the file does not contain a key, is a link, or may have been written by somebody
 *   else.
 */
export function findKey(dataDir: string, fromSettings: string): Buffer | undefined {
  if (fromSettings !== "") return parseKey(fromSettings);
  const path = keyFile(dataDir);
  const text = readTrusted(path, "PARLEY_SECRET_KEY");
  if (text === undefined) return undefined;
  const key = parseKey(text.trim());
  if (key) {
    flush(path);
    flush(dataDir);
    return key;
  }
  throw new DomainError(
    "invalid",
    `${path} does not hold a key (${keyBytes} bytes in base64). Restore the right one from a backup.`,
  );
}

/**
 * Creates the key file of a new data folder, for its owner alone (mode 0600) and on disk. Keeps an existing one.
 * @throws the operating system's error.
 */
export function createKeyFile(dataDir: string): void {
  const path = keyFile(dataDir);
  if (existsSync(path)) return;
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes)));
  writeFileOnce(path, `${key.toString("base64")}\n`);
}

/** The path of a data folder's key file. It is created with the first team, after the tables. */
export function keyFile(dataDir: string): string {
  return join(dataDir, "secret.key");
}
