import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { DomainError } from "../errors.ts";

/**
 * Makes this process the one server of the data folder: the queue is worked off by one worker at a time. The lock is
 * the operating system's, on a file of its own, so it ends with the process however that ends. Commands need no lock.
 * @throws DomainError `conflict` when another process holds it.
 */
export function holdServerLock(dataDir: string): { release(): void } {
  const file = new SqliteFile(join(dataDir, "server.lock"), { create: true });
  try {
    file.run("BEGIN EXCLUSIVE");
  } catch {
    file.close();
    throw new DomainError("conflict", `Another parley is serving ${dataDir} already. Stop it first.`);
  }
  return { release: () => file.close() };
}
