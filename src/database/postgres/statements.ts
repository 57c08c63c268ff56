import type { SQLQueryBindings } from "bun:sqlite";
import { getTableName } from "drizzle-orm";
import * as schema from "../schema.ts";
import type { Statement, Statements } from "../statements.ts";
import { numbered } from "./placeholders.ts";

/** What a statement gave: its rows, each in the order of the columns, whose names may repeat. */
export type Result = {
  readonly rows: readonly unknown[][];
  readonly columns: readonly string[];
  /** How many rows it returned or, if it returns none, changed. */
  readonly count: number;
};

/** A statement as PostgreSQL takes it. */
export type Query = {
  readonly sql: string;
  /** Whether it changes anything, or needs the lock that changes are made under. */
  readonly isChange: boolean;
  /** The tables that it reads or changes. */
  readonly tables: readonly string[];
  /** Whether anybody looks at what it gives; if not, the function need not wait for it. */
  readonly hasResult: boolean;
};

/**
 * What answers the statements of a function that runs now: from what is loaded, or by throwing an `Interruption`, after
 * which the function runs again.
 */
export type Answers = {
  answer(query: Query, parameters: readonly unknown[]): Result;
  /** Waits until `answer` has an answer to this statement; undefined where it is better to be interrupted. */
  foresee?(query: Query, parameters: readonly unknown[]): Promise<void>;
};

/**
 * Ends a run of a plain function whose statement has no answer yet. No fault and no `Error`: rules must let it pass, and
 * it needs no stack.
 */
export class Interruption {}

export const nobodyAnswers: Answers = {
  answer() {
    throw new Error("A statement ran outside of a question and of a change.");
  },
};

/**
 * The statements of a connection to PostgreSQL. A plain function asks them as it asks SQLite's; whoever runs the function
 * says in `answers` what answers them meanwhile.
 */
export class PostgresStatements implements Statements {
  answers: Answers = nobodyAnswers;

  prepare<Row, Parameters extends SQLQueryBindings[]>(text: string): Statement<Row, Parameters> {
    const { names } = numbered(text);
    const query = queryOf(text);
    const answer = (parameters: readonly unknown[], asked = query) =>
      this.answers.answer(asked, names.length === 0 ? parameters : namedParameters(names, parameters[0]));
    const withoutResult: Query = { ...query, hasResult: false };
    return {
      get(...parameters) {
        const { columns, rows } = answer(parameters);
        return rows[0] === undefined ? null : (objectOf(columns, rows[0]) as Row);
      },
      all(...parameters) {
        const { columns, rows } = answer(parameters);
        return rows.map((row) => objectOf(columns, row) as Row);
      },
      values: (...parameters) => answer(parameters).rows as unknown[][],
      run: (...parameters) => void answer(parameters, withoutResult),
    };
  }
}

/** The statement of this text, whose result somebody looks at. */
export function queryOf(text: string): Query {
  const { text: sql } = numbered(text);
  const isChange = !/^\s*select\b/i.test(sql);
  return { sql, isChange, tables: tableNames.filter((name) => sql.includes(name)), hasResult: true };
}

const tableNames = Object.values(schema).map(getTableName);

function objectOf(columns: readonly string[], row: readonly unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (let at = 0; at < columns.length; at++) object[columns[at] ?? ""] = row[at];
  return object;
}

/** @throws Error when one is missing, as SQLite does. */
function namedParameters(names: readonly string[], values: unknown): unknown[] {
  return names.map((name) => {
    const value = (values as Record<string, unknown>)[name];
    if (value === undefined) throw new Error(`Missing parameter "${name}"`);
    return value;
  });
}
