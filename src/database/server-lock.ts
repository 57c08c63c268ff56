import { Database as SqliteFile } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";
import { hasCode } from "../system/error-code.ts";
import { lockDescriptor } from "../system/libc.ts";
import { touchFile } from "../system/on-disk.ts";

/** How long to wait before another try for a lock that somebody else has, in milliseconds. */
const retryMs = 20;

/** The lock of a data folder while it is held; `path` is its file. */
export type ServerLock = Disposable & { readonly path: string };

/**
 * Makes this process the one server of the data folder: the queue is worked off by one worker at a time. Two locks of the
 * operating system, which end with the process however that ends: on the folder itself, which nobody can take for
 * a file that was left behind, and on `server.lock`, which is the one that servers of older versions take. Commands
 * need no lock, but to change the tables, under which no server may run: they wait for each other, for `waitMs` at most.
 * @throws DomainError `conflict` when another process holds it; `invalid` when `server.lock` is something else; the
 *   system's or SQLite's error when this login may not use the file.
 */
export function holdServerLock(dataDir: string, waitMs = 0): ServerLock {
  using taken = new DisposableStack();
  const folder = openSync(dataDir, "r");
  taken.defer(() => closeSync(folder));
  const deadline = performance.now() + waitMs;
  while (lockDescriptor(folder) === "taken") {
    if (performance.now() >= deadline) throw isServed(dataDir);
    Bun.sleepSync(retryMs);
  }

  const path = join(dataDir, "server.lock");
  // SQLite would let everybody read the file, and who reads it can keep the server from its lock.
  touchFile(path);
  const file = new SqliteFile(path, { readwrite: true });
  taken.defer(() => file.close());
  try {
    file.run(`PRAGMA busy_timeout = ${waitMs}`);
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    if (hasCode(error, "SQLITE_BUSY")) throw isServed(dataDir);
    if (!hasCode(error, "SQLITE_NOTADB")) throw error;
    throw new DomainError(
      "invalid",
      `${path} is not the lock of parley. Nothing is kept in it: remove it, and start again.`,
    );
  }
  const all = taken.move();
  return { path, [Symbol.dispose]: () => all.dispose() };
}

function isServed(dataDir: string): DomainError {
  return new DomainError("conflict", `Another parley is serving ${dataDir} already. Stop it first.`);
}
