import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { hasCode } from "./error-code.ts";

/**
 * Writes a new file for its owner alone (mode 0600), or with the owner and mode of `like`. It is written under a
 * temporary name and then renamed, so that it exists completely or not at all, and is on disk when this returns: data
 * that depends on it may be committed then.
 * `text` may be a function of the time of the file's birth, in nanoseconds since 1970; 0 where none is known.
 * @throws the operating system's error; nothing is left behind.
 */
export function writeFileOnce(path: string, text: string | ((bornNs: bigint) => string), like?: Stats): void {
  const temporaryPath = `${path}.${crypto.randomUUID()}`;
  try {
    const file = openSync(temporaryPath, "wx", 0o600);
    try {
      // The umask applies to the mode above and can only remove bits; an unusual one must not lock the owner out.
      if (like) fchownSync(file, like.uid, like.gid);
      fchmodSync(file, like ? like.mode & 0o777 : 0o600);
      const { birthtimeNs } = fstatSync(file, { bigint: true });
      writeFileSync(file, typeof text === "string" ? text : text(birthtimeNs));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporaryPath, path);
  } catch (error) {
    rmSync(temporaryPath, { force: true });
    throw error;
  }
  flush(dirname(path));
}

/**
 * Creates an empty file for its owner alone (mode 0600), or opens an existing one and leaves it unchanged; `moreFlags`
 * are further open flags. Does not follow symbolic links and does not wait for the other end of a pipe.
 * @throws the operating system's error, `ELOOP` for a link.
 */
export function touchFile(path: string, moreFlags = 0): void {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  closeSync(openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | moreFlags, 0o600));
}

/**
 * Creates the folder and its missing parents for their owner alone (mode 0700); each is on disk when this returns.
 * @throws the operating system's error.
 */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const topmost = resolve(first);
  for (let created = resolve(path); ; created = dirname(created)) {
    flush(dirname(created));
    if (created === topmost) return;
  }
}

/**
 * Returns once the content of the file, or the list of names in the folder, is on disk.
 * @throws the operating system's error.
 */
export function flush(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } catch (error) {
    // Mounts that do not support fsync (EINVAL) or are read-only (EROFS): nothing written by this process is at risk
    // there.
    if (!hasCode(error, "EINVAL", "EROFS")) throw error;
  } finally {
    closeSync(opened);
  }
}
