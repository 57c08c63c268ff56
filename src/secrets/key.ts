import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { keyBytes, parseKey } from "../input/key.ts";
import { flush, writeFileOnce } from "../system/on-disk.ts";
import { readTrusted } from "../system/trusted-files.ts";

/**
 * The key that signing secrets are encrypted under: `PARLEY_SECRET_KEY` where it is set, else the key file in the data
 * folder. Undefined when there is none, which is said where a secret is needed and stops nothing else. A file that an
 * operator has just put there is on disk when this returns, before anything is sealed under it.
 * @throws DomainError `invalid` when the file does not hold a key, is a link, or can have been written by somebody else.
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
    `${path} does not hold a key (${keyBytes} bytes in base64). Put the right one back from a copy.`,
  );
}

/** Makes the key file of a new data folder, for its owner alone (mode 0600) and on disk. One that is there stays. */
export function createKeyFile(dataDir: string): void {
  const path = keyFile(dataDir);
  if (existsSync(path)) return;
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(keyBytes)));
  writeFileOnce(path, `${key.toString("base64")}\n`);
}

/** Where the key of a data folder is kept. It is made with the first team, after the tables. */
export function keyFile(dataDir: string): string {
  return join(dataDir, "secret.key");
}
