import type { Database as SqliteFile } from "bun:sqlite";
import { DomainError } from "../errors.ts";
import { type Migration, migrations as shipped } from "./migrations.ts";

/**
 * Applies the migrations that the database lacks, each in its own transaction, in order of name. Two processes that
 * start at once apply each migration once, because the check runs under the write lock. Tables in use are changed only
 * while `hold`, which is told the missing migrations, keeps servers away: an older server would not know the new tables.
 * `onMigration` is told which one of them begins. Returns the names of the migrations applied.
 * @throws DomainError `data_too_new` when the database has a migration that this binary does not know; whatever `hold`
 *   throws.
 */
export function migrate(
  file: SqliteFile,
  migrations: readonly Migration[] = shipped,
  hold?: (missing: string[]) => Disposable,
  onMigration?: (name: string, number: number, of: number) => void,
): string[] {
  file.run(
    "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at integer NOT NULL) STRICT",
  );
  const isApplied = file.query<{ name: string }, [string]>("SELECT name FROM migrations WHERE name = ?");
  requireKnownVersion(file, migrations);

  const missing = migrations.filter(({ name }) => !isApplied.get(name));
  const isInUse = missing.length > 0 && missing.length < migrations.length;
  using _lock = isInUse ? hold?.(missing.map(({ name }) => name)) : undefined;
  const applied: string[] = [];
  for (const [index, migration] of missing.entries()) {
    const { name } = migration;
    if (isInUse) onMigration?.(name, index + 1, missing.length);
    file
      .transaction(() => {
        if (isApplied.get(name)) return;
        file.run("INSERT INTO migrations (name, applied_at) VALUES (?, ?)", [name, Date.now()]);
        if ("sql" in migration) file.run(migration.sql);
        else migration.change(file);
        applied.push(name);
      })
      .immediate();
  }
  return applied;
}

function requireKnownVersion(file: SqliteFile, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = file
    .query<{ name: string }, []>("SELECT name FROM migrations ORDER BY name")
    .all()
    .find(({ name }) => !known.has(name));
  if (!unknown) return;
  throw new DomainError(
    "data_too_new",
    `The data was last used by a newer parley (it holds ${unknown.name}, which this one does not know). ` +
      "Nothing was changed. Install that version or a later one, then try again.",
  );
}
