import { SQL } from "bun";
import { Database as SqliteFile } from "bun:sqlite";
import { join } from "node:path";
import { changesLock, lockClass } from "../../src/database/postgres/lock-keys.ts";
import { rowsOf } from "./data.ts";
import { databaseUrlOf } from "./engine.ts";

/** Makes the database refuse every new row of the table until the returned function is called. */
export async function refuseInserts(dataDir: string, table: string): Promise<() => Promise<void>> {
  if (databaseUrlOf(dataDir) === undefined) {
    await rowsOf(
      dataDir,
      `CREATE TRIGGER no_room BEFORE INSERT ON ${table} BEGIN SELECT raise(ABORT, 'no room'); END`,
    );
    return async () => void (await rowsOf(dataDir, "DROP TRIGGER no_room"));
  }
  await rowsOf(
    dataDir,
    `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$`,
  );
  await rowsOf(
    dataDir,
    `CREATE TRIGGER no_room BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION no_room()`,
  );
  return async () => void (await rowsOf(dataDir, "DROP FUNCTION no_room CASCADE"));
}

/** Renames the table until the returned function is called, as a botched repair may. */
export async function takeTableAway(dataDir: string, table: string): Promise<() => Promise<void>> {
  const away = `${table}_elsewhere`;
  await rename(dataDir, table, away);
  return () => rename(dataDir, away, table);
}

async function rename(dataDir: string, from: string, to: string): Promise<void> {
  const statement = `ALTER TABLE ${from} RENAME TO ${to}`;
  if (databaseUrlOf(dataDir) !== undefined) {
    await rowsOf(dataDir, statement);
    return;
  }
  using file = new SqliteFile(join(dataDir, "parley.db"));
  file.run("PRAGMA busy_timeout = 5000");
  // What else names the table goes on naming it as it was.
  file.run("PRAGMA legacy_alter_table = ON");
  file.run(statement);
}

/** Holds the lock that every write needs until the returned function is called. */
export async function holdWriteLock(dataDir: string): Promise<() => Promise<void>> {
  const url = databaseUrlOf(dataDir);
  if (url === undefined) {
    const file = new SqliteFile(join(dataDir, "parley.db"));
    // The server itself writes now and then, so the lock may have to be waited for.
    file.run("PRAGMA busy_timeout = 10000");
    file.run("BEGIN IMMEDIATE");
    return async () => {
      file.run("ROLLBACK");
      file.close();
    };
  }
  // Whoever holds the lock and says nothing is ended by a server that waits for it. So the holder waits, in the database.
  const gate = new SQL(url, { max: 1 });
  await gate`SELECT pg_advisory_lock(${gateKey}::bigint)`;
  const holder = new SQL(url, { max: 1 });
  const held = Promise.withResolvers<void>();
  const transaction = holder.begin(async (session) => {
    await session`SELECT pg_advisory_xact_lock(${lockClass}::integer, ${changesLock}::integer)`;
    held.resolve();
    await session`SELECT pg_advisory_xact_lock(${gateKey}::bigint)`;
  });
  await Promise.race([held.promise, transaction]);
  return async () => {
    await gate.close();
    await transaction;
    await holder.close();
  };
}

/** A key in the half of the advisory locks that Parley does not use: each test has a database of its own. */
const gateKey = 1;
