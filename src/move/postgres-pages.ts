import type { MoveSession } from "./postgres-session.ts";
import { type MovedTable, type Row, typeOfColumn } from "./tables.ts";

/** How the types of the tables are called in PostgreSQL. */
export const typeNames = { integer: "bigint", text: "text", blob: "bytea" } as const;

/** How many rows the table has. */
export async function countRows(session: MoveSession, { name }: MovedTable): Promise<number> {
  const { rows } = await session.query(`SELECT count(*) FROM ${name}`);
  return Number(rows[0]?.[0]);
}

/** What `Side.page` says. */
export async function readPage(
  session: MoveSession,
  table: MovedTable,
  after: Row | undefined,
  limit: number,
): Promise<Row[]> {
  // Of the table: a plain name would be that of the column of text.
  const key = table.key.map((name) => `${table.name}.${name}`).join(", ");
  // As text, since numbers of more than 53 bits would be rounded.
  const columns = table.columns.map(({ name, type }) => (type === "integer" ? `${name}::text` : name));
  const places = table.key.map((name, index) => `$${index + 1}::${typeNames[typeOfColumn(table, name)]}`);
  const later = after ? `WHERE (${key}) > (${places.join(", ")})` : "";
  const { rows } = await session.query(
    `SELECT ${columns.join(", ")} FROM ${table.name} ${later} ORDER BY ${key} LIMIT $${(after?.length ?? 0) + 1}::bigint`,
    [...(after ?? []), limit],
  );
  const integers = table.columns.flatMap(({ type }, place) => (type === "integer" ? [place] : []));
  for (const row of rows) {
    for (const place of integers) if (row[place] !== null) row[place] = BigInt(row[place] as string);
  }
  return rows as unknown as Row[];
}

/** Whether the database has a table of this name. */
export async function hasTable(session: MoveSession, name: string): Promise<boolean> {
  const { rows } = await session.query("SELECT 1 WHERE to_regclass($1) IS NOT NULL", [name]);
  return rows.length > 0;
}
