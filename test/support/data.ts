import { SQL } from "bun";
import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { numbered } from "../../src/database/postgres/placeholders.ts";
import { databaseUrlOf, engine } from "./engine.ts";

/** What a column holds. */
type Value = string | number | null | Uint8Array;

/** What each table of the workspace holds, as text. */
export type Data = Record<string, string>;

/** Runs one statement with `?` for each of its parameters, and returns the rows that it gives. */
type Tables = { rowsOf<Row>(statement: string, ...parameters: Value[]): Promise<Row[]> };

/**
 * Runs one statement on the data folder's workspace, beside whoever uses it, and returns the rows that it gives: for
 * what no function of the domain tells or does. Its text, with `?` for each parameter, serves both engines.
 */
export async function rowsOf<Row = Record<string, Value>>(
  dataDir: string,
  statement: string,
  ...parameters: Value[]
): Promise<Row[]> {
  using tables = openTables(dataDir);
  return await tables.rowsOf<Row>(statement, ...parameters);
}

/** What the first column of the statement's rows holds. */
export async function columnOf<Cell extends Value>(
  dataDir: string,
  statement: string,
  ...parameters: Value[]
): Promise<Cell[]> {
  const rows = await rowsOf<Record<string, Cell>>(dataDir, statement, ...parameters);
  return rows.flatMap((row) => Object.values(row).slice(0, 1));
}

/** How many rows the table has. */
export async function countOf(dataDir: string, table: string): Promise<number> {
  const [count = 0] = await columnOf<number>(dataDir, `SELECT count(*) FROM ${table}`);
  return count;
}

/** What each table of the data folder's workspace holds, by the table's name. */
export async function readTables(dataDir: string): Promise<Map<string, Array<Record<string, unknown>>>> {
  using tables = openTables(dataDir);
  const names = await tables.rowsOf<{ name: string }>(
    engine === "sqlite"
      ? "SELECT name FROM sqlite_schema WHERE type = 'table'"
      : "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  const read = new Map<string, Array<Record<string, unknown>>>();
  for (const { name } of names) read.set(name, await tables.rowsOf(`SELECT * FROM ${name}`));
  return read;
}

/** What servers on PostgreSQL note about themselves and about each request, refused or not. */
const bookkeeping = ["latest_commits", "nodes", "rate_counts"];

/**
 * Reads what the tables of the data folder's workspace hold: what a refused request leaves as it was. When a token was
 * last used is left out, which also a refused request may change.
 */
export async function readData(dataDir: string): Promise<Data> {
  const data: Data = {};
  for (const [name, rows] of await readTables(dataDir)) {
    if (bookkeeping.includes(name)) continue;
    const texts = rows.map((row) => JSON.stringify({ ...row, last_used_at: undefined }));
    // On PostgreSQL an update of a row changes its place.
    data[name] = (engine === "sqlite" ? texts : texts.sort()).join("\n");
  }
  return data;
}

function openTables(dataDir: string): Tables & Disposable {
  const url = databaseUrlOf(dataDir);
  return url === undefined ? openFile(join(dataDir, "parley.db")) : connectionTo(url);
}

function openFile(path: string): ReturnType<typeof openTables> {
  const file = new SqliteFile(path, { strict: true });
  file.run("PRAGMA busy_timeout = 5000");
  return {
    rowsOf: async <Row>(statement: string, ...parameters: Value[]) =>
      file.query<Row, Value[]>(statement).all(...parameters),
    [Symbol.dispose]: () => file.close(),
  };
}

/** A connection for each database, kept until the database is dropped, since tests look again and again. */
const connections = new Map<string, SQL>();

function connectionTo(url: string): ReturnType<typeof openTables> {
  const sql = connections.get(url) ?? new SQL(url, { max: 1, bigint: true });
  connections.set(url, sql);
  return {
    rowsOf: async <Row>(statement: string, ...parameters: Value[]) => {
      const rows = (await sql.unsafe(numbered(statement).text, parameters)) as Array<Record<string, unknown>>;
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(plain)) as Row);
    },
    [Symbol.dispose]: () => {},
  };
}

/** Whole numbers as SQLite gives them: all of ours are small enough. */
function plain([name, value]: [string, unknown]): [string, unknown] {
  return [name, typeof value === "bigint" ? Number(value) : value];
}
