import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Database, openDatabase } from "./database/open.ts";
import { DomainError } from "./errors.ts";

/** What to run where there is no workspace yet. */
const nextStep = "Make one with: parley init --team NAME --owner NAME";

/**
 * Opens the workspace in the data folder, its tables brought up to what this binary needs.
 * @throws DomainError `not_found` when the folder holds none; `data_too_new` when a newer binary has used it.
 */
export function openWorkspace(dataDir: string): Database {
  const file = databaseFile(dataDir);
  if (!existsSync(file))
    throw new DomainError("not_found", `There is no workspace in ${dataDir}. ${nextStep}`);
  return openDatabase(file);
}

function databaseFile(dataDir: string): string {
  return join(dataDir, "parley.db");
}
