import { Database as SqliteFile } from "bun:sqlite";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../errors.ts";

/**
 * Makes this process the one server of the data folder: the queue is worked off by one worker at a time. The lock is
 * the operating system's, on a file of its own, so it ends with the process however that ends. Commands need no lock, but
 * to change the tables, under which no server may run: they wait for each other, for `waitMs` at most.
 * @throws DomainError `conflict` when another process holds it; the system's or SQLite's error when this login may not
 *   use the file.
 */
export function holdServerLock(dataDir: string, waitMs = 0): Disposable {
  const path = join(dataDir, "server.lock");
  // SQLite would let everybody read the file, and who reads it can keep the server from its lock.
  closeSync(openSync(path, "a", 0o600));
  const file = new SqliteFile(path, { readwrite: true });
  try {
    file.run(`PRAGMA busy_timeout = ${waitMs}`);
    file.run("BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!(error instanceof Error && "code" in error && error.code === "SQLITE_BUSY")) throw error;
    throw new DomainError("conflict", `Another parley is serving ${dataDir} already. Stop it first.`);
  }
  return { [Symbol.dispose]: () => file.close() };
}
