import type { MovedTable } from "./tables.ts";

// A workspace that has left is not changed any more, not even by a process that had it open before: a command that waited
// for the move to end, or a node that had lost its session. Each table refuses changes by triggers.

/** The beginning of the names of the triggers. */
export const triggerName = "workspace_has_left";

const refusal = "The workspace was moved elsewhere. Nothing was saved.";

/** The statements that let the tables refuse changes, for SQLite. */
export function closingOnSqlite(tables: readonly MovedTable[]): string {
  const changes = ["insert", "update", "delete"];
  return tables
    .flatMap(({ name }) =>
      changes.map(
        (change) =>
          `CREATE TRIGGER IF NOT EXISTS ${triggerName}_${name}_${change} BEFORE ${change} ON ${name}
           BEGIN SELECT RAISE(ABORT, '${refusal}'); END;`,
      ),
    )
    .join("\n");
}

/** The statements that let the tables refuse changes, for PostgreSQL, as a standby does. */
export function closingOnPostgres(tables: readonly MovedTable[]): string {
  const triggers = tables.map(
    ({ name }) =>
      `DROP TRIGGER IF EXISTS ${triggerName} ON ${name};
       CREATE TRIGGER ${triggerName} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${name}
       EXECUTE FUNCTION refuse_change_of_workspace_that_left();`,
  );
  return triggers.join("\n");
}
