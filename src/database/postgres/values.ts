import type { SQL } from "bun";

/** What a statement answered. Values are as SQLite gives them: null, number, string or bytes, and 0 or 1 for booleans. */
export type Result = {
  rows: unknown[][];
  /** The names of the columns, which may repeat. */
  columns: string[];
  /** The number of rows returned or, for a statement that returns none, of those changed. */
  count: number;
};

/** OIDs of types that the driver gives as booleans, BigInts and texts: bool, int8 and numeric. */
const numberTypes = new Set([16, 20, 1700]);

type Column = { name: string; type: number };

/** Names of columns, and the places of those to turn into numbers; the driver keeps one array for each statement. */
const shapes = new WeakMap<readonly Column[], { names: string[]; numbers: number[] }>();

/** The result of the driver's rows, which are arrays and are changed. Integers above 2^53 lose digits; we have none. */
export function resultOf(rows: unknown[][] & SQL.ResultMetadata): Result {
  const { names, numbers } = shapeOf(rows.columns ?? []);
  for (const place of numbers) {
    for (const row of rows) {
      const value = row[place];
      if (value !== null) row[place] = Number(value);
    }
  }
  return { rows, columns: names, count: rows.count };
}

/**
 * A parameter as it is sent. Numbers go as text without a type, so that the server infers the type from the statement
 * alone and one plan serves all values; the driver would send 1 as int4, 3e9 as int8 and 1.5 as float8. NUL, which no
 * text can hold there, becomes U+FFFD: nothing that is stored has one, but somebody may search for it.
 */
export function encoded(value: unknown): unknown {
  switch (typeof value) {
    case "number":
    case "bigint":
      return String(value);
    case "string":
      return value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
    case "boolean":
      return value ? "1" : "0";
    case "undefined":
      return null;
    default:
      return value;
  }
}

function shapeOf(columns: readonly Column[]) {
  let shape = shapes.get(columns);
  if (!shape) {
    shape = {
      names: columns.map(({ name }) => name),
      numbers: columns.flatMap(({ type }, place) => (numberTypes.has(type) ? [place] : [])),
    };
    shapes.set(columns, shape);
  }
  return shape;
}
