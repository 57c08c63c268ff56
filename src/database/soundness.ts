import type { Database as SqliteFile } from "bun:sqlite";

/** What nearly every request asks for. Where one of these cannot be read, nothing can be answered. */
const asked = [
  "migrations",
  "workspace_stamp",
  "secret_key",
  "teams",
  "users",
  "channels",
  "channel_members",
  "tokens",
  "incoming_webhooks",
  "subscriptions",
  "subscription_filters",
];

/** What grows with the traffic. */
const growing = ["messages", "events", "jobs", "attempts", "audit_entries"];

/** A table of more rows is not checked as a whole. */
const rowsMax = 5_000;

/** So many of the first and of the last rows of a table are read instead: what was written last is among them. */
const rowsAtEnds = 100;

/**
 * Reads what can be read in bounded time, and returns the first thing that is wrong with it, in SQLite's words, or
 * undefined: of what nearly every request asks for whole tables with their indexes, of the rest both ends.
 */
export function findDamage(file: SqliteFile): string | undefined {
  for (const table of [...asked, ...growing]) {
    try {
      const found =
        growing.includes(table) || isLarge(file, table) ? readEnds(file, table) : checkWhole(file, table);
      if (found !== undefined) return `${table}: ${found}`;
    } catch (error) {
      return `${table}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return undefined;
}

function isLarge(file: SqliteFile, table: string): boolean {
  return file.query(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ${rowsMax}`).get() !== null;
}

function checkWhole(file: SqliteFile, table: string): string | undefined {
  const [[found] = []] = file.query(`PRAGMA integrity_check(${table})`).values();
  return found === "ok" ? undefined : String(found);
}

function readEnds(file: SqliteFile, table: string): undefined {
  // In the order in which the table is stored, whichever columns that goes by.
  const keys = file
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk")
    .all(table)
    .map(({ name }) => name);
  const isByRow = file.query("SELECT 1 FROM pragma_table_list(?) WHERE wr = 0").get(table) !== null;
  const columns = isByRow ? ["rowid"] : keys;
  for (const direction of ["ASC", "DESC"]) {
    const order = columns.map((column) => `${column} ${direction}`).join(", ");
    file.query(`SELECT * FROM ${table} ORDER BY ${order} LIMIT ${rowsAtEnds}`).values();
  }
}
