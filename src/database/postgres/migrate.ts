import { DomainError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import { lockClass, migrationsLock, serversLock } from "./lock-keys.ts";
import { postgresMigrations as shipped } from "./migrations.ts";
import type { Session } from "./session.ts";
import { requireStandby } from "./standby-wait.ts";

type Migration = { name: string; sql: string };
type Query = Connections["query"];

/** How long a process waits for servers to end before it changes tables in use, in milliseconds. */
const serversWaitMs = 5_000;

const lockRetryMs = 50;

/**
 * Applies the migrations that the database lacks, each in its own transaction, in order of name. Nodes that start at
 * once wait for one another, so each migration is applied once. Tables in use are changed only while no server has its
 * lock (`joinServers`), because an older one would not know the new tables. Without `mayBeNew` there must be tables.
 * `onMigration` is told which one begins. Returns the names of the migrations applied.
 * @throws DomainError `not_found` when there must be one and is none; `data_too_new` when the database has a migration
 *   that this binary does not know; `conflict` when migrations are missing while servers run; the database's error.
 */
export async function migratePostgres(
  connections: Connections,
  {
    migrations = shipped,
    waitMs = serversWaitMs,
    mayBeNew = true,
    onMigration,
  }: {
    migrations?: readonly Migration[];
    waitMs?: number;
    mayBeNew?: boolean;
    onMigration?: (name: string, number: number, of: number) => void;
  } = {},
): Promise<string[]> {
  const found = await appliedNames(connections.query);
  if (!found && !mayBeNew)
    throw new DomainError(
      "not_found",
      "There is no workspace in the database of PARLEY_DATABASE_URL. Create one with: parley init --team NAME --owner NAME",
    );
  // As nearly always. Whoever serves looks again once it has its lock.
  if (found && missingOf(found, migrations).length === 0) return [];

  const session = await connections.session();
  try {
    // However long it takes: another node may be changing a large table.
    while (!(await tryLock(session, migrationsLock))) await Bun.sleep(lockRetryMs);
    const applied = (await appliedNames(session.query.bind(session))) ?? (await createTable(session));
    const missing = missingOf(applied, migrations);
    if (missing.length === 0) return [];
    if (applied.length > 0) await holdServers(session, waitMs);
    await session.liftLimits();
    for (const [index, migration] of missing.entries()) {
      if (applied.length > 0) onMigration?.(migration.name, index + 1, missing.length);
      await apply(session, migration);
    }
    return missing.map(({ name }) => name);
  } finally {
    // With the session its locks end, and a transaction that failed.
    session.close();
  }
}

/**
 * Registers this process as a server for as long as the session lives: until then nobody changes the tables or moves
 * the workspace.
 * @throws DomainError `data_too_new` when the database was migrated by a newer version meanwhile; `conflict` when
 *   somebody is changing or moving it; `unwritable` while what it writes next would wait for a standby.
 */
export async function joinServers(
  session: Session,
  migrations: readonly Migration[] = shipped,
): Promise<void> {
  await requireStandby(session);
  const deadline = performance.now() + serversWaitMs;
  while (!(await tryLock(session, serversLock, "_shared"))) {
    if (performance.now() > deadline)
      throw new DomainError(
        "conflict",
        "The tables of the workspace are being changed or moved. Try again when that is done.",
      );
    await Bun.sleep(lockRetryMs);
  }
  await requireKnownVersion(session.query.bind(session), migrations);
}

/**
 * Checks that no newer version has changed the tables, as happens to a server that had lost its lock meanwhile, or when
 * somebody puts another database in place. Takes one look-up.
 * @throws DomainError `data_too_new`.
 */
export async function requireKnownVersion(
  query: Query,
  migrations: readonly Migration[] = shipped,
): Promise<void> {
  const { rows } = await query("SELECT name FROM migrations ORDER BY name");
  missingOf(rows.flat() as string[], migrations);
}

/** The names of the migrations that the database has; undefined when it has no tables yet. */
async function appliedNames(query: Query): Promise<string[] | undefined> {
  const { rows } = await query("SELECT to_regclass('migrations') IS NOT NULL");
  if (rows[0]?.[0] !== 1) return undefined;
  return (await query("SELECT name FROM migrations ORDER BY name")).rows.flat() as string[];
}

async function createTable(session: Session): Promise<string[]> {
  await session.query(
    'CREATE TABLE migrations (name text COLLATE "C" PRIMARY KEY, applied_at bigint NOT NULL)',
  );
  return [];
}

/**
 * The migrations that were not applied.
 * @throws DomainError `data_too_new` when one was that is not known.
 */
function missingOf(applied: readonly string[], migrations: readonly Migration[]): Migration[] {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = applied.find((name) => !known.has(name));
  if (unknown === undefined) return migrations.filter(({ name }) => !applied.includes(name));
  throw new DomainError(
    "data_too_new",
    `The data was last used by a newer parley (it holds ${unknown}, which this one does not know). ` +
      "Nothing was changed. Install that version or a later one, then try again.",
  );
}

async function holdServers(session: Session, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (!(await tryLock(session, serversLock))) {
    if (performance.now() > deadline) throw await servedByOthers(session);
    await Bun.sleep(lockRetryMs);
  }
}

async function tryLock(session: Session, key: number, kind: "" | "_shared" = ""): Promise<boolean> {
  const { rows } = await session.query(`SELECT pg_try_advisory_lock${kind}($1, $2)`, [lockClass, key]);
  return rows[0]?.[0] === 1;
}

async function servedByOthers(session: Session): Promise<DomainError> {
  const text =
    "SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() " +
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) " +
    "AND classid = $1::oid AND objid = $2::oid";
  const servers = Number((await session.query(text, [lockClass, serversLock])).rows[0]?.[0]);
  const users = servers === 1 ? "an older server still uses" : `${servers} older servers still use`;
  return new DomainError(
    "conflict",
    `This version has to change the tables, which ${users}. Stop every server of this database first.`,
  );
}

async function apply(session: Session, { name, sql }: Migration): Promise<void> {
  await session.query("BEGIN");
  await session.script(sql);
  await session.query("INSERT INTO migrations (name, applied_at) VALUES ($1, $2)", [name, Date.now()]);
  await session.query("COMMIT");
}
