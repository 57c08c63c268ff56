import { type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Connection } from "./database.ts";

type Engine = Connection["engine"];

/**
 * The column for comparisons and orders that take A to Z for a to z, written as in the indexes on it: SQLite has a
 * collation for that, PostgreSQL an index on the folded text. Compare it with what `foldCase` returns.
 */
export function caseless(engine: Engine, column: SQLiteColumn): SQL {
  return engine === "sqlite" ? sql`${column} COLLATE NOCASE` : sql`lower(${column})`;
}

/** The text with a to z in place of A to Z; other letters stay as they are, as in `lower` of both engines. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether `part` occurs in `text`. Not LIKE: it gives some characters a meaning of their own. */
export function contains(engine: Engine, text: SQL, part: string | number): SQL {
  return engine === "sqlite" ? sql`instr(${text}, ${part}) > 0` : sql`strpos(${text}, ${part}) > 0`;
}

/** The order by `value`, nulls first and backwards last: what SQLite does by itself, and PostgreSQL when it is told. */
export function inOrder(value: SQL, isDescending: boolean): SQL {
  return isDescending ? sql`${value} desc nulls last` : sql`${value} asc nulls first`;
}
