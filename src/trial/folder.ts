import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { freeBytes } from "../system/disk-space.ts";

/** A copy may be migrated, which writes its tables once more. */
const roomFactor = 2;

/**
 * Makes a folder for a copy of a database of this size, for this login alone. Disposing of it removes it with all that
 * is in it.
 * @throws DomainError `unwritable` without room.
 */
export function trialFolder(databaseBytes: number): Disposable & { path: string } {
  const needed = databaseBytes * roomFactor;
  const free = freeBytes(tmpdir());
  if (free < needed) {
    throw new DomainError(
      "unwritable",
      `The copy to try needs up to ${needed} bytes, and ${tmpdir()} has ${free} left. Make room, or name another ` +
        "folder with TMPDIR.",
    );
  }
  const path = mkdtempSync(join(tmpdir(), "parley-trial-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
