import type { Database as SqliteFile } from "bun:sqlite";

/** Tables that nearly every request reads. If one of them is unreadable, no request can be served. */
const essentialTables = [
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

/** Tables that grow with traffic. */
const growingTables = ["messages", "events", "jobs", "attempts", "audit_entries"];

/** Larger tables are not checked completely. */
const rowsMax = 5_000;

/**
 * The number of rows read at either end of a table that is not checked completely: the latest writes are among them.
 */
const rowsAtEnds = 100;

/**
 * Reads what can be read in bounded time and returns the first fault found, in SQLite's words, or undefined. Tables
 * that nearly every request reads are checked completely, with their indexes; of the others only both ends are read.
 */
export function findDamage(file: SqliteFile): string | undefined {
  for (const table of [...essentialTables, ...growingTables]) {
    try {
      const fault =
        growingTables.includes(table) || isLarge(file, table)
          ? readEnds(file, table)
          : checkWhole(file, table);
      if (fault !== undefined) return `${table}: ${fault}`;
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
  const [[result] = []] = file.query(`PRAGMA integrity_check(${table})`).values();
  return result === "ok" ? undefined : String(result);
}

function readEnds(file: SqliteFile, table: string): undefined {
  // In storage order, whichever columns that depends on.
  const keys = file
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk")
    .all(table)
    .map(({ name }) => name);
  const hasRowid = file.query("SELECT 1 FROM pragma_table_list(?) WHERE wr = 0").get(table) !== null;
  const columns = hasRowid ? ["rowid"] : keys;
  for (const direction of ["ASC", "DESC"]) {
    const order = columns.map((column) => `${column} ${direction}`).join(", ");
    file.query(`SELECT * FROM ${table} ORDER BY ${order} LIMIT ${rowsAtEnds}`).values();
  }
}
