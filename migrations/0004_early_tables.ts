import type { Database as SqliteFile } from "bun:sqlite";

/**
 * 0002, 0003 and 0005 were still edited after the commits that added them. Gives databases of the commits in between what
 * the later text makes, and changes nothing in any other.
 */
export function completeEarlyTables(file: SqliteFile): void {
  file.run(
    "CREATE TABLE IF NOT EXISTS secret_key (id integer PRIMARY KEY CHECK (id = 1), check_value blob NOT NULL) STRICT",
  );
  file.run(
    "CREATE INDEX IF NOT EXISTS subscriptions_deleted ON subscriptions (deleted_at) WHERE deleted_at IS NOT NULL",
  );
  file.run("CREATE INDEX IF NOT EXISTS attempts_by_age ON attempts (created_at)");
  for (const [index, table] of byDirectory) endInId(file, index, table);
  file.run("DROP INDEX IF EXISTS jobs_by_event");
  keepDataOnly(file);
}

/** The indexes of 0003 that had no id at their end, by which pages are ordered. */
const byDirectory = [
  ["users_by_external_id", "users (team_id, external_id, id) WHERE type = 'human' AND removed_at IS NULL"],
  [
    "users_by_display_name",
    "users (team_id, name COLLATE NOCASE, id) WHERE type = 'human' AND removed_at IS NULL",
  ],
  [
    "managed_channels_by_name",
    "channels (team_id, name COLLATE NOCASE, id) WHERE is_managed = 1 AND is_archived = 0",
  ],
  [
    "managed_channels_by_external_id",
    "channels (team_id, external_id, id) WHERE is_managed = 1 AND is_archived = 0",
  ],
] as const;

function endInId(file: SqliteFile, index: string, definition: string): void {
  const columns = file.query<{ name: string }, [string]>(
    "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
  );
  if (columns.all(index).at(-1)?.name === "id") return;
  file.run(`DROP INDEX ${index}`);
  file.run(`CREATE INDEX ${index} ON ${definition}`);
}

/** 0005 kept the whole envelope of an event at first, and not only its data. */
function keepDataOnly(file: SqliteFile): void {
  const isApplied = file.query("SELECT 1 FROM migrations WHERE name = '0005_leaner_writes'").get() !== null;
  const hasEnvelope =
    file.query("SELECT 1 FROM pragma_table_info('events') WHERE name = 'envelope'").get() !== null;
  if (!isApplied || !hasEnvelope) return;
  file.run("ALTER TABLE events RENAME COLUMN envelope TO data");
  file.run("UPDATE events SET data = data -> '$.data'");
}
