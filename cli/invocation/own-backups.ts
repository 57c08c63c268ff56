import { DomainError } from "../../src/errors.ts";
import type { Invocation } from "./invocation.ts";

/**
 * Rejects a command that copies or replaces the file of a workspace. `instead` says what does that for a database on
 * PostgreSQL, as a sentence.
 * @throws DomainError `invalid` where the workspace is on PostgreSQL.
 */
export function requireFile({ place }: Invocation, instead: string): void {
  if (place.databaseUrl === "") return;
  throw new DomainError(
    "invalid",
    `The workspace is on PostgreSQL, which has backups of its own. ${instead}`,
  );
}

/** What makes a backup of a workspace on PostgreSQL, and what has to be kept besides. */
export function howToBackUp(dataDir: string): string {
  return (
    "Use pg_dump --format=custom, or pg_basebackup with the write-ahead log, and keep a copy of " +
    `${dataDir}/secret.key besides: signing secrets need it.`
  );
}
