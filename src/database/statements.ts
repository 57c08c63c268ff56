import type { Database as SqliteFile, SQLQueryBindings } from "bun:sqlite";

/** A prepared statement. Parameters are bound in their order, or by name when the only one is an object. */
export type Statement<Row, Parameters extends SQLQueryBindings[]> = {
  /** Returns the first row, or null when there is none. */
  get(...parameters: Parameters): Row | null;
  all(...parameters: Parameters): Row[];
  /** Returns the rows as arrays, in the order of their columns. */
  values(...parameters: Parameters): unknown[][];
  run(...parameters: Parameters): void;
};

/** Where statements in SQL are prepared. */
export type Statements = {
  prepare<Row, Parameters extends SQLQueryBindings[]>(text: string): Statement<Row, Parameters>;
};

/** The statements of a file: the driver's own, whose types say the same in a way that does not compare. */
export function statementsOf(file: SqliteFile): Statements {
  return file as unknown as Statements;
}
