import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { startPostgres, type TestPostgres } from "../test/support/postgres.ts";
import type { Figures } from "./benchmark.ts";
import { type Load, load } from "./load.ts";
import { type Parley, startParley } from "./parley.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { type Seeded, seedWorkspace } from "./workspace.ts";

/** As an operator would have it: a commit is flushed to disk before it is acknowledged. */
const settings = {
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",
  autovacuum: "on",
  shared_buffers: "256MB",
  max_wal_size: "4GB",
};

/** A workspace on a PostgreSQL of this run. */
export type OnPostgres = AsyncDisposable & {
  workspace: Seeded & { databaseUrl: string };
  /** How many rows the table has. */
  count: (table: "messages" | "attempts" | "jobs") => Promise<number>;
  /** Runs one statement. */
  run: (statement: string, parameters?: unknown[]) => Promise<void>;
};

/** Starts a PostgreSQL that keeps what it acknowledges, and makes a workspace with one team in it. */
export async function seedOnPostgres(): Promise<OnPostgres> {
  const postgres: TestPostgres = await startPostgres({ settings, onDisk: true });
  const databaseUrl = await postgres.createDatabase("parley");
  const workspace = { ...(await seedWorkspace(databaseUrl)), databaseUrl };
  const sql = new SQL(databaseUrl, { max: 1 });
  return {
    workspace,
    async count(table) {
      const [row] = (await sql.unsafe(`SELECT count(*)::integer AS count FROM ${table}`)) as [
        { count: number },
      ];
      return row.count;
    },
    async run(statement, parameters = []) {
      await sql.unsafe(statement, parameters);
    },
    async [Symbol.asyncDispose]() {
      await sql.close();
      await postgres[Symbol.asyncDispose]();
    },
  };
}

/** Starts one more server of the workspace, with a data folder of its own that has the same key. */
export async function startNode(
  { dataDir, databaseUrl }: Seeded,
  environment: Record<string, string> = {},
): Promise<Parley> {
  const folder = temporaryFolder();
  copyFileSync(join(dataDir, "secret.key"), join(folder, "secret.key"));
  return await startParley(folder, { ...environment, PARLEY_DATABASE_URL: databaseUrl ?? "" });
}

/**
 * Puts loads that post on nodes at once, and returns what they come to together.
 * @throws when the database lacks an acknowledged message.
 */
export async function postOnNodes({ count }: OnPostgres, loads: readonly Load[]): Promise<Figures> {
  const before = await count("messages");
  const done = await Promise.all(loads.map(load));
  const added = (await count("messages")) - before;
  const answered = done.reduce((sum, part) => sum + part.answered, 0);
  const connections = loads.reduce((sum, part) => sum + part.connections, 0);
  if (added < answered || added > answered + 2 * connections)
    throw new Error(`${answered} messages were acknowledged, and ${added} are in the database`);
  return {
    perSecond: done.reduce((sum, { figures }) => sum + (figures.perSecond ?? 0), 0),
    p50Ms: Math.max(...done.map(({ figures }) => figures.p50Ms ?? 0)),
    p99Ms: Math.max(...done.map(({ figures }) => figures.p99Ms ?? 0)),
  };
}
