import type { Database as SqliteFile } from "bun:sqlite";

/** What a backup notes about the workspace in it. */
export type WorkspaceFacts = { workspace: string; teams: number; migrations: string[] };

/**
 * Reads the facts with plain SQL that every version's tables take, because a copy may be older than this version.
 * Undefined when the file is no database of ours, or has no workspace.
 */
export function factsOf(file: SqliteFile): WorkspaceFacts | undefined {
  const tables = file
    .query("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('migrations', 'teams')")
    .values();
  if (tables[0]?.[0] !== 2) return undefined;
  const migrations = file.query<{ name: string }, []>("SELECT name FROM migrations ORDER BY name").all();
  const teams = file.query<{ id: string }, []>("SELECT id FROM teams ORDER BY created_at, id").all();
  const [first] = teams;
  if (!first) return undefined;
  return { workspace: first.id, teams: teams.length, migrations: migrations.map(({ name }) => name) };
}

/** Whether secrets in this copy are encrypted with two keys, because a rotation of the key was under way. */
export function isKeyRotating(file: SqliteFile): boolean {
  const hasTable = file.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'key_rotation'");
  return hasTable.get() !== null && file.query("SELECT 1 FROM key_rotation").get() !== null;
}
