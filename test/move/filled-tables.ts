import { Database as SqliteFile, type SQLQueryBindings } from "bun:sqlite";
import { getTableColumns, is } from "drizzle-orm";
import { getTableName } from "drizzle-orm";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import * as schema from "../../src/database/schema.ts";
import { type MovedTable, movedTables } from "../../src/move/tables.ts";

type Value = string | number | bigint | Uint8Array | null;

/** Texts and bytes that a copy may change on its way. */
const texts = [
  "plain",
  "",
  " leading and trailing ",
  "quotes \" and ' and {braces},NULL",
  "back\\slash \\x41 \\\\",
  "a\nline\r\nand\ta tab",
  "👩‍👩‍👧‍👦 日本語 é é \u{10ffff}",
  "\u0001\u007f\u0085\u2028\ufeff",
  "x".repeat(8_000),
  "😀".repeat(4_000),
];
const integers = [0n, 1n, -1n, 42n, 2n ** 31n, -(2n ** 31n), 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
const blobs = [Buffer.alloc(0), Buffer.from([0, 255, 92, 120, 34]), Buffer.alloc(70_000, 7)];

/**
 * Fills every table of a migrated database with `rows` rows, as far as it may have so many: each nullable column is null
 * in some of them, references lead to rows, and the other values are hard to copy. A table that a later migration adds
 * is filled too.
 */
export function fillTables(path: string, rows: number): void {
  using file = new SqliteFile(path, { readwrite: true, safeIntegers: true });
  // Filled in the order of the tables, with some references to rows that come later.
  file.run("PRAGMA foreign_keys = OFF");
  const tables = movedTables();
  file.transaction(() => {
    for (const table of tables) fill(file, table, rows);
  })();
  const fault = file.query("PRAGMA foreign_key_check").get();
  if (fault) throw new Error(`A reference leads nowhere: ${JSON.stringify(fault)}`);
}

function fill(file: SqliteFile, table: MovedTable, rows: number): void {
  file.run(`DELETE FROM ${table.name}`);
  const text = file
    .query<{ sql: string }, [string]>("SELECT sql FROM sqlite_schema WHERE name = ?")
    .get(table.name)?.sql;
  const isSingle = /CHECK \(id = 1\)/.test(text ?? "");
  const kinds = enumsOf(table.name);
  const most = isSingle ? 1 : table.key.length === 1 ? (kinds.get(table.key[0] ?? "")?.length ?? rows) : rows;
  const columns = file
    .query<{ name: string; type: string; notnull: bigint }, [string]>(
      'SELECT name, lower(type) AS type, "notnull" FROM pragma_table_info(?)',
    )
    .all(table.name);
  const parents = new Map(
    file
      .query<{ column: string; parent: string }, [string]>(
        'SELECT "from" AS column, "table" AS parent FROM pragma_foreign_key_list(?)',
      )
      .all(table.name)
      .map(({ column, parent }) => [column, parent]),
  );
  const insert = file.query<unknown, SQLQueryBindings[]>(
    `INSERT INTO ${table.name} (${columns.map(({ name }) => name).join(", ")})
     VALUES (${columns.map(() => "?").join(", ")})`,
  );
  for (let row = 0; row < Math.min(most, rows); row++) {
    const values = columns.map(({ name, type, notnull }, place): Value => {
      const seed = row * 7 + place * 3;
      const isKey = table.key.includes(name);
      if (isSingle && name === "id") return 1;
      // A person has a role, and a bot has none.
      if (table.name === "users" && name === "type") return row % 2 === 0 ? "human" : "bot";
      if (table.name === "users" && name === "role") return row % 2 === 0 ? "member" : null;
      if (notnull === 0n && !isKey && seed % 3 === 0) return null;
      const parent = parents.get(name);
      // Some lead to later rows of the same table.
      if (parent !== undefined) return textKey(parent, isKey ? row : (row * 31 + 5) % Math.min(most, rows));
      const kind = kinds.get(name);
      if (kind) return kind[(isKey ? row : seed) % kind.length] ?? "";
      if (type === "blob") return blobs[seed % blobs.length] ?? null;
      if (type === "integer") return isKey || name === "position" ? row - 2 : flagOr(table.name, name, seed);
      if (isKey && table.key.length === 1) return textKey(table.name, row);
      return `${texts[seed % texts.length]}${row}`;
    });
    insert.run(...(values as SQLQueryBindings[]));
  }
}

/** In the order of neither the rows nor the texts of SQL's usual languages. */
function textKey(table: string, row: number): string {
  return `${["b", "A", "é", "_", "B", "a"][row % 6]}-${table}-${row}`;
}

/** A flag is 0 or 1; any other number may be anything. */
function flagOr(table: string, column: string, seed: number): bigint {
  const isFlag = columnsOf(table).some(({ name, dataType }) => name === column && dataType === "boolean");
  return isFlag ? BigInt(seed % 2) : (integers[seed % integers.length] ?? 0n);
}

function enumsOf(table: string): Map<string, readonly string[]> {
  return new Map(
    columnsOf(table).flatMap(({ name, enumValues }) => (enumValues?.length ? [[name, enumValues]] : [])),
  );
}

function columnsOf(name: string) {
  const table = Object.values(schema)
    .filter((value) => is(value, SQLiteTable))
    .find((each) => getTableName(each) === name);
  return table ? Object.values(getTableColumns(table)) : [];
}

/** Every row of every table as text, by SQLite's own means, to compare what came back with what had left. */
export function contentOfTables(path: string): Map<string, string[]> {
  using file = new SqliteFile(path, { readonly: true });
  return new Map(
    movedTables().map((table) => {
      const quoted = table.columns.map(({ name }) => `quote(${name})`).join(" || ',' || ");
      const rows = file
        .query<{ row: string }, []>(
          `SELECT ${quoted} AS row FROM ${table.name} ORDER BY ${table.key.join(", ")}`,
        )
        .all();
      return [table.name, rows.map(({ row }) => row)];
    }),
  );
}
