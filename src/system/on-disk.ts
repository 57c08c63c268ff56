import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { hasCode } from "./error-code.ts";

/**
 * Writes a file of this process's own making, for its owner alone (mode 0600): under another name first, so that it is
 * there whole or not at all, and on disk when this returns. What depends on it may be committed then.
 * @throws the operating system's error; nothing is left then.
 */
export function writeFileOnce(path: string, text: string): void {
  const unfinished = `${path}.${crypto.randomUUID()}`;
  try {
    const file = openSync(unfinished, "wx", 0o600);
    try {
      // The mode above passes through the umask, which can only take away; a strange one must not lock the owner out.
      fchmodSync(file, 0o600);
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  flush(dirname(path));
}

/**
 * Makes an empty file for its owner alone (mode 0600), or opens the one that is there, as it is; `more` is what else it
 * is opened with. No symbolic link is followed, and nobody waited for who should be at the other end of a pipe.
 * @throws the operating system's error, `ELOOP` for a link.
 */
export function touchFile(path: string, more = 0): void {
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  closeSync(openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | more, 0o600));
}

/**
 * Makes the folder, for its owner alone, and those above it that are missing; each is on disk when this returns.
 * @throws the operating system's error.
 */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const topmost = resolve(first);
  for (let made = resolve(path); ; made = dirname(made)) {
    flush(dirname(made));
    if (made === topmost) return;
  }
}

/**
 * Returns once the file's content, or the names in the folder, are on disk.
 * @throws the operating system's error.
 */
export function flush(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } catch (error) {
    // A mount that keeps nothing, or that nobody may write to: what is there got there in another way.
    if (!hasCode(error, "EINVAL", "EROFS")) throw error;
  } finally {
    closeSync(opened);
  }
}
