import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";

/** What each table of the data folder holds, as text. */
export type Data = Record<string, string>;

/**
 * Reads what the tables of a workspace hold, over a connection of its own, beside the server: what a refused request
 * leaves as it was. When a token was last used is left out, which also a refused request may change.
 */
export function dataReader(dataDir: string): Disposable & { read(): Data } {
  const file = new SqliteFile(join(dataDir, "parley.db"), { readonly: true });
  const tables = file
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => ({ name, rows: file.query<Record<string, unknown>, []>(`SELECT * FROM ${name}`) }));
  return {
    read: () =>
      Object.fromEntries(
        tables.map(({ name, rows }) => [
          name,
          JSON.stringify(rows.all().map((row) => ({ ...row, last_used_at: undefined }))),
        ]),
      ),
    [Symbol.dispose]: () => file.close(),
  };
}
