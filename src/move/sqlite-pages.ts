import type { Database as SqliteFile, SQLQueryBindings } from "bun:sqlite";
import type { MovedTable, Row } from "./tables.ts";

/** How many rows the table has. */
export function countRows(file: SqliteFile, { name }: MovedTable): number {
  return Number(file.query<{ rows: bigint }, []>(`SELECT count(*) AS rows FROM ${name}`).get()?.rows ?? 0);
}

/** What `Side.page` says. The connection has `safeIntegers`. */
export function readPage(file: SqliteFile, table: MovedTable, after: Row | undefined, limit: number): Row[] {
  const key = table.key.join(", ");
  const columns = table.columns.map(({ name }) => name).join(", ");
  const later = after ? `WHERE (${key}) > (${table.key.map(() => "?").join(", ")})` : "";
  const statement = file.query<unknown, SQLQueryBindings[]>(
    `SELECT ${columns} FROM ${table.name} ${later} ORDER BY ${key} LIMIT ?`,
  );
  return statement.values(...((after ?? []) as SQLQueryBindings[]), limit) as unknown as Row[];
}
