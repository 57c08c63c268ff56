import { SQL } from "bun";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { migrate } from "../../../src/database/migrate.ts";
import { postgresMigrations } from "../../../src/database/postgres/migrations.ts";
import * as schema from "../../../src/database/schema.ts";
import { freshDatabase } from "../../support/postgres.ts";

/** The tables of PostgreSQL are those of SQLite, so that the statements of one engine are those of the other. */

let database: Awaited<ReturnType<typeof freshDatabase>>;
let sql: SQL;
const file = new SqliteFile(":memory:");

beforeAll(async () => {
  migrate(file);
  database = await freshDatabase();
  sql = new SQL(database.url, { max: 1 });
  for (const migration of postgresMigrations) await sql.unsafe(migration.sql);
});

afterAll(async () => {
  file.close();
  await sql.close();
  await database[Symbol.asyncDispose]();
});

/** What only several servers of one workspace need: their names, what they count together, and where they are. */
const tablesOfNodes = ["nodes", "rate_counts", "delivery_place", "latest_commits"];

type Column = { name: string; type: string; isRequired: boolean; standard: string | null };

/** The columns of the table. */
async function columnsOf(table: string): Promise<Column[]> {
  const rows = (await sql`
    SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = ${table}`) as Array<
    Record<"column_name" | "data_type" | "is_nullable", string> & { column_default: string | null }
  >;
  return rows.map(({ column_name, data_type, is_nullable, column_default }) => ({
    name: column_name,
    type: data_type,
    isRequired: is_nullable === "NO",
    standard: column_default?.replace("::text", "") ?? null,
  }));
}

const tables = Object.values(schema)
  .filter((value) => is(value, SQLiteTable))
  .map((table) => getTableConfig(table));

/** A flag is an integer on both engines; any other number may be a time, which needs 64 bits. */
function typeOf(column: (typeof tables)[number]["columns"][number]): string {
  if (column.dataType === "boolean") return "integer";
  return { text: "text", integer: "bigint", blob: "bytea" }[column.getSQLType()] ?? column.getSQLType();
}

describe("PostgreSQL has the tables of SQLite", () => {
  test("and those of nodes, and no others", async () => {
    const names =
      (await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`) as Array<{
        table_name: string;
      }>;
    expect(names.map(({ table_name }) => table_name).sort()).toEqual(
      [...tables.map(({ name }) => name), ...tablesOfNodes].sort(),
    );
  });

  test.each(tables.map(({ name, columns }) => ({ name, columns })))(
    "$name, column by column",
    async ({ name, columns }) => {
      const standards = file
        .query<{ name: string; standard: string | null }, [string]>(
          "SELECT name, dflt_value AS standard FROM pragma_table_info(?)",
        )
        .all(name);
      const declared = columns.map((column) => ({
        name: column.name,
        type: typeOf(column),
        isRequired: column.notNull,
        standard: standards.find((each) => each.name === column.name)?.standard ?? null,
      }));
      const byName = (one: Column, other: Column) => (one.name < other.name ? -1 : 1);
      expect((await columnsOf(name)).sort(byName)).toEqual(declared.sort(byName));
    },
  );

  test("with indexes of the same names, as unique and as partial as there", async () => {
    const onSqlite = file
      .query<{ name: string; unique: number; partial: number }, []>(
        `SELECT i.name, i."unique", i.partial FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i
         WHERE t.type = 'table' AND t.name <> 'migrations' AND i.origin = 'c' ORDER BY i.name`,
      )
      .all();
    const onPostgres = (await sql`
      SELECT c.relname AS name, i.indisunique::int AS unique, (i.indpred IS NOT NULL)::int AS partial
      FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON t.oid = i.indrelid
      WHERE t.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)
      ORDER BY c.relname COLLATE "C"`) as typeof onSqlite;
    expect(onPostgres.map((row) => ({ ...row }))).toEqual(onSqlite);
  });

  test("with the same keys, in the same order of columns", async () => {
    const onSqlite = file
      .query<{ key: string }, []>(
        `SELECT t.name || ' (' || (
             SELECT group_concat(k.name, ', ' ORDER BY k.seqno) FROM pragma_index_info(i.name) AS k) || ')' AS key
         FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i
         WHERE t.type = 'table' AND t.name <> 'migrations' AND i.origin <> 'c'
         UNION SELECT t.name || ' (' || c.name || ')' FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.pk = 1
           AND (SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0) = 1 AND t.name <> 'migrations'
         ORDER BY 1`,
      )
      .all();
    const onPostgres = (await sql`
      SELECT t.relname || ' (' || (
        SELECT string_agg(a.attname, ', ' ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k (number, place)
        JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.number) || ')' AS key
      FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
      WHERE c.contype IN ('p', 'u') AND t.relnamespace = 'public'::regnamespace
        AND t.relname NOT IN ${sql(tablesOfNodes)}`) as typeof onSqlite;
    expect(onPostgres.map(({ key }) => key).sort()).toEqual(onSqlite.map(({ key }) => key));
  });

  test("and every text is compared byte by byte, whatever the order of the database is", async () => {
    const others = (await sql`
      SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`) as unknown[];
    expect([...others]).toEqual([]);
  });
});

describe("the stamp of the workspace", () => {
  const stamp = async () => {
    const [row] = (await sql`SELECT stamp FROM workspace_stamp`) as Array<{ stamp: string }>;
    return row?.stamp ?? "";
  };
  const isChangedBy = async (statement: string) => {
    const before = await stamp();
    await sql.unsafe(statement);
    return (await stamp()) !== before;
  };

  /** The columns of the triggers, by table; of tables without a list every column. */
  const covered = (): Map<string, Set<string>> => {
    const triggers = file
      .query<{ table: string; sql: string }, []>(
        "SELECT tbl_name AS 'table', sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%_stamp_update'",
      )
      .all();
    return new Map(
      triggers.map(({ table, sql: text }) => {
        const list = /UPDATE OF([^]*?)\bON\b/i.exec(text)?.[1];
        const every = tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? [];
        return [table, new Set(list?.split(",").map((name) => name.trim()) ?? every)];
      }),
    );
  };

  test("changes with the columns with which it changes on SQLite, and with no other", async () => {
    const onSqlite = covered();
    expect(onSqlite.size).toBeGreaterThan(6);
    for (const { name, columns } of tables) {
      for (const column of columns) {
        const { name: of } = column;
        if (name === "workspace_stamp") continue;
        const isChanged = await isChangedBy(`UPDATE ${name} SET ${of} = ${of}`);
        expect(isChanged, `${name}.${of}`).toBe(onSqlite.get(name)?.has(of) ?? false);
      }
    }
  });

  test("changes with added and removed rows of the same tables as on SQLite", async () => {
    const onSqlite = covered();
    for (const { name } of tables) {
      if (name === "workspace_stamp") continue;
      const isExpected = onSqlite.has(name);
      expect(await isChangedBy(`INSERT INTO ${name} SELECT * FROM ${name} LIMIT 0`), name).toBe(isExpected);
      expect(await isChangedBy(`DELETE FROM ${name} WHERE false`), name).toBe(isExpected);
    }
  });
});
