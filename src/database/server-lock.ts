import { Database as SqliteFile } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { hasCode } from "../system/error-code.ts";
import { lockDescriptor } from "../system/libc.ts";
import { touchFile } from "../system/on-disk.ts";

/** How long to wait between attempts to take a lock held by another process, in milliseconds. */
const retryMs = 20;

/** The held lock of a data folder; `path` is its file. */
export type ServerLock = Disposable & { readonly path: string };

/**
 * Makes this process the only server of the data folder, so that one worker processes the queue. It takes two
 * operating system locks, which end with the process however it ends: one on the folder itself, which nobody can
 * mistake for a leftover file, and one on `server.lock`, which servers of older versions take. Commands need no lock,
 * except to change tables, which must not happen under a server; they wait for each other for at most `waitMs`
 * milliseconds.
 * @throws DomainError `conflict` when another process holds the lock; `invalid` when `server.lock` is another kind of
 *   file; the system's or SQLite's error when this login may not use the file.
 */
export function holdServerLock(dataDir: string, waitMs = 0): ServerLock {
  using locks = new DisposableStack();
  const folder = openSync(dataDir, "r");
  locks.defer(() => closeSync(folder));
  const deadline = performance.now() + waitMs;
  while (lockDescriptor(folder) === "taken") {
    if (performance.now() >= deadline) throw alreadyServed(dataDir);
    Bun.sleepSync(retryMs);
  }

  const path = join(dataDir, "server.lock");
  locks.use(lockFile(path, () => alreadyServed(dataDir), waitMs));
  const held = locks.move();
  return { path, [Symbol.dispose]: () => held.dispose() };
}

/**
 * Takes SQLite's lock on a file of its own, which is created if missing. It ends with the process however that ends.
 * @throws what `taken` returns when another process holds the lock for longer than `waitMs` milliseconds; DomainError
 *   `invalid` when the path is another kind of file; the system's or SQLite's error when this login may not use it.
 */
export function lockFile(path: string, taken: () => DomainError, waitMs = 0): Disposable {
  using opened = new DisposableStack();
  // SQLite would make the file readable by everybody, and a reader can prevent others from locking it.
  touchFile(path);
  const file = new SqliteFile(path, { readwrite: true });
  opened.defer(() => file.close());
  try {
    file.run(`PRAGMA busy_timeout = ${waitMs}`);
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    if (hasCode(error, "SQLITE_BUSY")) throw taken();
    if (!hasCode(error, "SQLITE_NOTADB")) throw error;
    throw new DomainError(
      "invalid",
      `${path} is not parley's lock file. It holds no data: remove it, and start again.`,
    );
  }
  return opened.move();
}

/**
 * How long a server that starts waits for the lock, in milliseconds: `isServed` holds it for a moment.
 */
export const serverLockWaitMs = 250;

/**
 * Whether a server holds the data folder, or a command that is changing its tables. Changes nothing; false where the
 * file system has no locks.
 * @throws the operating system's error when this login may not read the folder.
 */
export function isServed(dataDir: string): boolean {
  const folder = openSync(dataDir, "r");
  try {
    return lockDescriptor(folder, "shared") === "taken";
  } finally {
    closeSync(folder);
  }
}

function alreadyServed(dataDir: string): DomainError {
  return new DomainError("conflict", `Another parley is serving ${dataDir} already. Stop it first.`);
}
