import { keyOfText, type MovedTable, type Row } from "./tables.ts";

type Answer<T> = T | Promise<T>;

/** A database that a workspace is moved from or to. Nobody else writes to it until it is closed. */
export type Side = AsyncDisposable & {
  /** The folder, or the URL without its password. */
  readonly place: string;
  /** How many rows the table has. */
  count(table: MovedTable): Answer<number>;
  /** At most `limit` rows after the one with the key `after`, in the order of the primary key; the first ones without it. */
  page(table: MovedTable, after: Row | undefined, limit: number): Answer<Row[]>;
};

/** The last number that each numbered table has given, deleted rows included. */
export type LastNumbers = ReadonlyMap<string, bigint>;

/** Where the workspace is now. */
export type Source = Side & {
  lastNumbers(): Answer<LastNumbers>;
  /** Marks the workspace as one that has left for `place`, on disk when this is done. Nothing can be read afterwards. */
  leave(place: string): Answer<void>;
};

/** How far a table is copied. */
export type Copied = { rows: number; lastKey: Row };

/** Where the workspace goes. */
export type Target = Side & {
  /** How far the tables are copied that an earlier run has begun. */
  copied(): Answer<Map<string, Copied>>;
  /** Drops what was copied, and begins with nothing. */
  restart(): Answer<void>;
  /** Adds the rows together with how far the table is copied then. */
  append(table: MovedTable, rows: readonly Row[], copied: Copied): Answer<void>;
  /** Makes the whole copy usable, on disk when this is done. Nothing can be read afterwards. */
  finish(lastNumbers: LastNumbers): Answer<void>;
};

/** What `Target.copied` answers, from the rows of `move_progress`. */
export function copiedOf(
  tables: readonly MovedTable[],
  rows: ReadonlyArray<{ name: string; key: string; copied: bigint | number }>,
): Map<string, Copied> {
  return new Map(
    tables.flatMap((table) => {
      const row = rows.find(({ name }) => name === table.name);
      return row ? [[table.name, { rows: Number(row.copied), lastKey: keyOfText(table, row.key) }]] : [];
    }),
  );
}
