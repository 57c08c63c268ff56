import { join } from "node:path";
import { extractChecked, keyIn, openRestorable } from "../backup/restore.ts";
import type { Manifest } from "../backup/manifest.ts";
import { type Booted, bootAndRead } from "./boot.ts";
import { trialFolder } from "./folder.ts";
import { makeHarmless } from "./harmless.ts";

export type Verified = Booted & { manifest: Manifest; teams: number; key: "opened" | "sealed" | "left_out" };

/**
 * Checks all of a backup, then serves a copy of it with this program for a moment and reads from it. `passphrase` also
 * opens the key in it.
 * @throws DomainError `invalid` for a damaged backup or another passphrase; `conflict` when the copy cannot be served.
 */
export async function verifyBackup(
  file: string,
  passphrase: string | undefined,
  options: { onProgress?: (done: number, total: number) => void; signal?: AbortSignal } = {},
): Promise<Verified> {
  using archive = openRestorable(file);
  const { manifest } = archive;
  const keyText = keyIn(archive, passphrase);
  using folder = trialFolder(manifest.database.bytes);
  await extractChecked(archive, join(folder.path, "parley.db"), options);
  const { teams, readings } = await makeHarmless(folder.path);
  const booted = await bootAndRead(process.execPath, folder.path, readings, options.signal);
  return {
    ...booted,
    manifest,
    teams,
    key: keyText !== undefined ? "opened" : manifest.key ? "sealed" : "left_out",
  };
}
