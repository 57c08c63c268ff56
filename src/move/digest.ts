import type { Side } from "./side.ts";
import { keyOfRow, type MovedTable, type Row } from "./tables.ts";

/** A table's rows and their SHA-256, in hexadecimal. */
export type TableDigest = { rows: number; sha256: string };

/** The size of a page in characters of its lines that is aimed at. */
const pageCharacters = 1_000_000;
const pageRowsMin = 16;
const pageRowsMax = 4_000;

/**
 * The pages of the table from the row after `after`, each of about a megabyte, so that memory stays flat however large
 * rows are. `lines` are the rows as they are digested.
 */
export async function* pagesOf(
  side: Side,
  table: MovedTable,
  { after, rowsMax = Number.POSITIVE_INFINITY }: { after?: Row | undefined; rowsMax?: number } = {},
): AsyncGenerator<{ rows: Row[]; lines: string; lastKey: Row }> {
  let lastKey = after;
  let limit = pageRowsMin;
  for (let left = rowsMax; left > 0;) {
    const rows = await side.page(table, lastKey, Math.min(limit, left));
    const last = rows.at(-1);
    if (last === undefined) return;
    lastKey = keyOfRow(table, last);
    const lines = rows.map(lineOf).join("");
    yield { rows, lines, lastKey };
    left -= rows.length;
    const fitting = Math.floor((pageCharacters * rows.length) / lines.length);
    // At most twice as many: the next rows may be larger.
    limit = Math.max(pageRowsMin, Math.min(pageRowsMax, 2 * limit, fitting));
  }
}

/**
 * The digest of the table's rows in the order of the primary key, or of the first `rowsMax` of them. It is the same on
 * both engines: the SHA-256 of a line of JSON for each row, a list of its values in the order of the columns in SQLite.
 * Bytes are `{"hex":"…"}`. `onRows` is told after each page how many rows it had.
 */
export async function digestOf(
  side: Side,
  table: MovedTable,
  { rowsMax, onRows }: { rowsMax?: number; onRows?: (rows: number) => void } = {},
): Promise<TableDigest> {
  const hash = new Bun.CryptoHasher("sha256");
  let count = 0;
  for await (const { rows, lines } of pagesOf(side, table, rowsMax === undefined ? {} : { rowsMax })) {
    hash.update(lines);
    count += rows.length;
    onRows?.(rows.length);
  }
  return { rows: count, sha256: hash.digest("hex") };
}

/** The digest of all tables: of a line for each in their order, with its name, its rows and its digest. */
export function digestOfAll(tables: ReadonlyArray<TableDigest & { name: string }>): string {
  const lines = tables.map(({ name, rows, sha256 }) => `${name} ${rows} ${sha256}\n`);
  return new Bun.CryptoHasher("sha256").update(lines.join("")).digest("hex");
}

function lineOf(row: Row): string {
  return `[${row.map(jsonOf).join(",")}]\n`;
}

function jsonOf(value: Row[number]): string {
  if (value === null) return "null";
  if (typeof value === "bigint") return String(value);
  return typeof value === "string"
    ? JSON.stringify(value)
    : `{"hex":"${Buffer.from(value).toString("hex")}"}`;
}
