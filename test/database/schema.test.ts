import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { migrate } from "../../src/database/migrate.ts";
import * as schema from "../../src/database/schema.ts";

type Column = { name: string; type: string; isRequired: boolean };

/** The tables that the migrations create, with their columns. */
function migratedTables(): Map<string, Column[]> {
  using file = new SqliteFile(":memory:");
  migrate(file);
  const names = file
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'migrations'",
    )
    .all();
  const columns = file.query<{ name: string; type: string; notnull: number; pk: number }, [string]>(
    'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
  );
  return new Map(
    names.map((table) => [
      table.name,
      columns.all(table.name).map(({ name, type, notnull, pk }) => ({
        name,
        type: type.toLowerCase(),
        // In a STRICT table a primary key column is never null.
        isRequired: notnull === 1 || pk > 0,
      })),
    ]),
  );
}

/** The tables as declared for the queries. */
function declaredTables(): Map<string, Column[]> {
  const tables = Object.values(schema).filter((value) => is(value, SQLiteTable));
  return new Map(
    tables.map((table) => {
      const { name, columns } = getTableConfig(table);
      return [
        name,
        columns.map((column) => ({
          name: column.name,
          type: column.getSQLType(),
          isRequired: column.notNull,
        })),
      ];
    }),
  );
}

test("the declared tables are the ones that the migrations create", () => {
  const migrated = migratedTables();
  const declared = declaredTables();
  expect([...declared.keys()].sort()).toEqual([...migrated.keys()].sort());
  for (const [table, columns] of migrated) {
    const byName = (one: Column, other: Column) => (one.name < other.name ? -1 : 1);
    expect([...(declared.get(table) ?? [])].sort(byName), table).toEqual(columns.sort(byName));
  }
});

test("every table is strict: a column holds only its type", () => {
  using file = new SqliteFile(":memory:");
  migrate(file);
  const lax = file
    .query<{ name: string }, []>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  expect(lax).toEqual([]);
});
