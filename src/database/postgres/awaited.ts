import { fillPlaceholders, type Query } from "drizzle-orm";
import { type PostgresStatements, queryOf } from "./statements.ts";

/** What a query builder of drizzle does its work with; all of it looks synchronous, as on SQLite. */
type Prepared = Record<(typeof ways)[number], (values?: Record<string, unknown>) => unknown> & {
  joinsNotNullableMap?: unknown;
};
type Session = { prepareOneTimeQuery: (query: Query, ...more: unknown[]) => Prepared };

const ways = ["all", "get", "run", "values"] as const;

/**
 * Makes each query that is built to be awaited at once, and not prepared to be asked later, wait for its result before it
 * is asked: the function that awaits it is then not interrupted.
 */
export function waitWhereAwaited(connection: object, statements: PostgresStatements): void {
  const { session } = connection as { session: Session };
  const prepare = session.prepareOneTimeQuery.bind(session);
  session.prepareOneTimeQuery = (query, ...more) => {
    const prepared = prepare(query, ...more);
    const waiting = Object.fromEntries(
      ways.map((way) => [
        way,
        async (values?: Record<string, unknown>) => {
          const parameters = fillPlaceholders(query.params, values ?? {});
          await statements.answers.foresee?.({ ...queryOf(query.sql), hasResult: way !== "run" }, parameters);
          return prepared[way](values);
        },
      ]),
    );
    return Object.assign(
      // Set by the builder on what it gets, and read by what was prepared.
      Object.create(prepared, {
        joinsNotNullableMap: {
          set(map: unknown) {
            prepared.joinsNotNullableMap = map;
          },
        },
      }) as Prepared,
      waiting,
    );
  };
}
