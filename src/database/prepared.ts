import type { Changes, SQLQueryBindings } from "bun:sqlite";
import { sql } from "drizzle-orm";
import type { Connection, Transaction } from "./database.ts";

/**
 * A query that is built once for each connection and prepared: about 3 µs a call instead of 50.
 * Returns a function from the connection to the prepared statement.
 */
export function prepared<Prepared>(
  build: (connection: Connection) => Prepared,
): (connection: Connection) => Prepared {
  const statements = new WeakMap<Connection, Prepared>();
  return (connection) => {
    let statement = statements.get(connection);
    if (statement === undefined) {
      statement = build(connection);
      statements.set(connection, statement);
    }
    return statement;
  };
}

/** A query in SQL, for what runs with every message and every delivery: without drizzle around it a call costs half. */
export function query<Row, Parameters extends SQLQueryBindings[]>(text: string) {
  return prepared((connection) => connection.$client.prepare<Row, Parameters>(text));
}

/**
 * A change in SQL, for the same. It must not touch anything that the cache version covers, which is not asked
 * for anew after it.
 */
export function change<Parameters extends SQLQueryBindings[]>(
  text: string,
): (tx: Transaction, ...parameters: Parameters) => Changes {
  const statement = prepared(({ $client }) => $client.prepare<unknown, SQLQueryBindings[]>(text));
  return (tx, ...parameters) => {
    tx.commit.hasChanged = true;
    return statement(tx).run(...parameters);
  };
}

/**
 * A parameter of a prepared query that joins tables, of the type that its column has. To a bare one SQLite fits the plan
 * of a join anew with every value that it is given, which takes 3 µs a table and finds the same plan; a cast hides the
 * value from it.
 */
export function parameterOfJoin(name: string, type: "text" | "integer") {
  return sql`cast(${sql.placeholder(name)} as ${sql.raw(type)})`;
}
