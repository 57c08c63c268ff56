import { Database as SqliteFile } from "bun:sqlite";
import { migrate } from "../database/migrate.ts";

/** A table that is moved. Both engines have it under the same names. */
export type MovedTable = {
  name: string;
  columns: ReadonlyArray<{ name: string; type: "integer" | "text" | "blob" }>;
  /** The columns of the primary key, in the order of its index. */
  key: readonly string[];
  /** Whether the key is a number that the database gives and never gives twice. */
  isNumbered: boolean;
  /** Columns that refer to a row of the same table, and the column that they refer to. */
  selfReferences: ReadonlyArray<{ column: string; to: string }>;
};

/** A row as both engines give it, with the values in the order of the table's columns. */
export type Row = ReadonlyArray<bigint | string | Uint8Array | null>;

/**
 * What belongs to a database and not to the workspace in it: which migrations it has, how far a move is, and which copy
 * of the workspace it is, since a workspace that was moved is a new copy.
 */
const ofTheDatabase = ["migrations", "move_state", "move_progress", "delivery_copy"];

/**
 * The tables of a workspace, each after those that it refers to. The version comes last, because it changes with the
 * rows of others. They are read from SQLite's migrations, so that no table can be forgotten.
 */
export function movedTables(): MovedTable[] {
  using file = new SqliteFile(":memory:");
  migrate(file);
  const found = file
    .query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .all()
    .filter(({ name }) => !ofTheDatabase.includes(name));
  const parents = file.query<{ parent: string }, [string]>(
    'SELECT DISTINCT "table" AS parent FROM pragma_foreign_key_list(?)',
  );
  const ordered: string[] = [];
  const add = (name: string): void => {
    if (ordered.includes(name)) return;
    for (const { parent } of parents.all(name)) if (parent !== name) add(parent);
    ordered.push(name);
  };
  for (const { name } of found) if (name !== "workspace_stamp") add(name);
  add("workspace_stamp");

  const selfReferences = file.query<{ column: string; to: string }, [string]>(
    'SELECT "from" AS column, "to" FROM pragma_foreign_key_list(?1) WHERE "table" = ?1 ORDER BY id',
  );
  const columns = file.query<{ name: string; type: string; pk: number }, [string]>(
    "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid",
  );
  return ordered.map((name) => {
    const all = columns.all(name);
    return {
      name,
      columns: all.map((column) => ({ name: column.name, type: typeOf(column.type) })),
      key: all
        .filter(({ pk }) => pk > 0)
        .sort((one, other) => one.pk - other.pk)
        .map((column) => column.name),
      isNumbered: found.find((table) => table.name === name)?.sql.includes("AUTOINCREMENT") === true,
      selfReferences: selfReferences.all(name),
    };
  });
}

/** The values of the row's primary key. */
export function keyOfRow(table: MovedTable, row: Row): Row {
  return table.key.map((name) => row[table.columns.findIndex((column) => column.name === name)] ?? null);
}

/** The key as it is stored: a list in JSON, of texts and of numbers as digits. */
export function keyText(key: Row): string {
  return JSON.stringify(key.map(String));
}

/** The key of the table that `keyText` made. */
export function keyOfText(table: MovedTable, text: string): Row {
  const values = JSON.parse(text) as string[];
  return table.key.map((name, place) => {
    const value = values[place] ?? "";
    return typeOfColumn(table, name) === "integer" ? BigInt(value) : value;
  });
}

/** The type of the table's column of this name. */
export function typeOfColumn({ columns }: MovedTable, name: string): MovedTable["columns"][number]["type"] {
  return columns.find((column) => column.name === name)?.type ?? "text";
}

function typeOf(declared: string): MovedTable["columns"][number]["type"] {
  const type = declared.toLowerCase();
  if (type === "integer" || type === "text" || type === "blob") return type;
  throw new Error(`A column of the type ${declared} cannot be moved.`);
}
