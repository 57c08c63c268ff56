import type { Reading } from "./open.ts";

/**
 * A query that is built once for each connection and prepared: about 3 µs a call instead of 50.
 * Returns a function from the connection to the prepared statement.
 */
export function prepared<Statement>(
  build: (connection: Reading) => Statement,
): (connection: Reading) => Statement {
  const statements = new WeakMap<Reading, Statement>();
  return (connection) => {
    let statement = statements.get(connection);
    if (statement === undefined) {
      statement = build(connection);
      statements.set(connection, statement);
    }
    return statement;
  };
}
