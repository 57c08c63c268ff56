import { resolve } from "node:path";
import { openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import { sharedPostgres, type TestPostgres } from "./postgres.ts";

/** The engine that this run of the tests is about: SQLite, unless `PARLEY_TEST_ENGINE=postgres bun test …` started it. */
export const engine = readEngine(process.env.PARLEY_TEST_ENGINE);

/** The database that has the migrated tables and nothing in them. */
const template = "workspace";
/** So many databases are made ahead of the tests, which then need not wait. */
const spares = 3;

/** Names the only database of a program that a test has started. */
const childUrl = "PARLEY_TEST_DATABASE_URL";

const postgres = engine === "postgres" && !process.env[childUrl] ? await startWithTemplate() : undefined;
const ready: string[] = [];
let filling: Promise<void> | undefined;
let made = 0;

/** The name of each data folder's database, by the folder's path. */
const names = new Map<string, string>();

/**
 * The database of a data folder's workspace; undefined on SQLite, where it is a file in the folder. It is made when it
 * is first asked for: with all tables for a test that opens the workspace by itself, else empty, as a folder is.
 */
export function databaseUrlOf(dataDir: string, { isMigrated = false } = {}): string | undefined {
  if (!postgres) return process.env[childUrl];
  const path = resolve(dataDir);
  const name = names.get(path) ?? (isMigrated ? takeMigrated(postgres) : make(postgres, "template1"));
  names.set(path, name);
  return postgres.url(name);
}

/** What a program has to be told so that it uses the workspace of this data folder. */
export function environmentOf(dataDir: string): Record<string, string> {
  const url = databaseUrlOf(dataDir);
  return url === undefined ? {} : { PARLEY_DATABASE_URL: url };
}

/** The environment of a program of a test that opens this folder's workspace as the tests do. */
export function environmentOfChild(dataDir: string): Record<string, string | undefined> {
  const url = databaseUrlOf(dataDir, { isMigrated: true });
  return { ...process.env, [childUrl]: url };
}

/** Removes the databases of the data folders in the folder, without waiting for it. */
export function dropDatabasesIn(folder: string): void {
  for (const [path, name] of names) {
    if (path !== folder && !path.startsWith(`${folder}/`)) continue;
    names.delete(path);
    // What cannot be removed ends with the PostgreSQL of this run.
    postgres?.dropDatabase(name).catch(() => {});
  }
}

function readEngine(text: string | undefined): "sqlite" | "postgres" {
  if (text === undefined || text === "" || text === "sqlite") return "sqlite";
  if (text === "postgres") return "postgres";
  throw new Error(`PARLEY_TEST_ENGINE is ${text}. It can be sqlite or postgres.`);
}

async function startWithTemplate(): Promise<TestPostgres> {
  const started = await sharedPostgres();
  await started.createDatabase(template);
  const connections = openConnections(started.url(template), { max: 1 });
  await migratePostgres(connections);
  await connections.close();
  return started;
}

function takeMigrated(from: TestPostgres): string {
  const name = ready.pop() ?? make(from, template);
  filling ??= fill(from).finally(() => (filling = undefined));
  return name;
}

async function fill(from: TestPostgres): Promise<void> {
  while (ready.length < spares) {
    const name = nextName();
    await from.createDatabase(name, template);
    ready.push(name);
  }
}

function make(from: TestPostgres, like: string): string {
  const name = nextName();
  from.createDatabaseNow(name, like);
  return name;
}

function nextName(): string {
  return `parley_${++made}`;
}
