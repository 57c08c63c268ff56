import { existsSync } from "node:fs";
import { DomainError } from "../errors.ts";
import { keyFile, newKeyFile, readKey } from "../secrets/key-file.ts";
import { writeFileOnce } from "../system/on-disk.ts";

/**
 * The key of the signing secrets, which goes with a workspace to a folder: from the key file of `from`, unless the
 * settings have the key. Returns the function that puts it there.
 * @throws DomainError `conflict` when the folder has another key, or while the key is being rotated; `invalid` for a file that is not a key.
 */
export function keyToCarry(from: string, to: string, fromSettings: string): () => void {
  if (existsSync(newKeyFile(from))) {
    throw new DomainError(
      "conflict",
      "A rotation of the key has not ended. Finish it with parley secrets rotate-key, then move.",
    );
  }
  const key = fromSettings === "" ? readKey(keyFile(from)) : undefined;
  const found = key && readKey(keyFile(to));
  if (key === undefined || found?.equals(key)) return () => {};
  if (found) {
    throw new DomainError(
      "conflict",
      `${keyFile(to)} is not the key of the workspace, which is ${keyFile(from)}. Move it away, or name another folder.`,
    );
  }
  return () => {
    if (!existsSync(keyFile(to))) writeFileOnce(keyFile(to), `${key.toString("base64")}\n`);
  };
}
