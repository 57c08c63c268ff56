import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { countOf, rowsOf } from "../support/data.ts";
import { engine } from "../support/engine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type StoredEvent = { id: string; type: string; created_at: number; data: string };

/** What a crash has left: `using copy = await copyAfterCrash(server.dataDir)`. */
export type CrashCopy = Disposable & {
  /** The first column of the query's rows, as text, sorted. */
  column(sql: string): Promise<string[]>;
  /** The problems that SQLite finds in the file. PostgreSQL's files are none of ours. */
  damage(): Promise<string[]>;
  /** The number of logged attempts by `subscription event`. */
  attempts(): Promise<Map<string, number>>;
  /** The envelope of each stored event, as it is sent. */
  envelopes(): Promise<string[]>;
  /** What is still queued, by `subscription event`. */
  queued(): Promise<Set<string>>;
};

/**
 * On SQLite a copy of the folder that no process has open, so that reading it leaves the recovery of the original to the
 * next server. On PostgreSQL the database itself, once it has done with what the killed server had asked for.
 */
export async function copyAfterCrash(dataDir: string): Promise<CrashCopy> {
  if (engine === "postgres") {
    await until("nothing is under way", async () => (await sessionsAtWork(dataDir)) === 0);
    return reader(dataDir, () => {});
  }
  const folder = temporaryFolder();
  // Without the WAL index, which is the memory of processes that are gone.
  for (const name of ["parley.db", "parley.db-wal"]) {
    const from = join(dataDir, name);
    if (existsSync(from)) copyFileSync(from, join(folder.path, name));
  }
  return reader(folder.path, () => folder[Symbol.dispose]());
}

async function sessionsAtWork(dataDir: string): Promise<number> {
  return await countOf(
    dataDir,
    "pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()",
  );
}

function reader(dataDir: string, dispose: () => void): CrashCopy {
  const column = async (sql: string) => {
    const rows = await rowsOf(dataDir, sql);
    return rows
      .map((row) => Object.values(row)[0])
      .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
      .toSorted((one, other) => (one < other ? -1 : 1));
  };
  return {
    column,
    damage: async () =>
      engine === "sqlite" ? (await column("PRAGMA integrity_check")).filter((found) => found !== "ok") : [],
    attempts: async () => {
      const pairs = await column("SELECT subscription_id || ' ' || event_id FROM attempts");
      return new Map([...Map.groupBy(pairs, (pair) => pair)].map(([pair, all]) => [pair, all.length]));
    },
    envelopes: async () => {
      const events = await rowsOf<StoredEvent>(dataDir, "SELECT id, type, created_at, data FROM events");
      return events.map(({ id, type, created_at, data }) => {
        const at = new Date(created_at).toISOString().replace("Z", "+00:00");
        return `{"id":"${id}","type":"${type}","created_at":"${at}","data":${data}}`;
      });
    },
    queued: async () =>
      new Set(
        await column(
          "SELECT subscription_id || ' ' || events.id FROM jobs JOIN events ON events.seq = event_seq",
        ),
      ),
    [Symbol.dispose]: dispose,
  };
}
