import { Database as SqliteFile } from "bun:sqlite";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../support/temporary-folder.ts";

/**
 * A copy of a data folder that no process has open, so that reading it leaves the recovery of the original to the next
 * server: `using copy = new CrashCopy(server.dataDir)`.
 */
export class CrashCopy implements Disposable {
  readonly #folder = temporaryFolder();
  readonly #file: SqliteFile;

  constructor(dataDir: string) {
    // Without the WAL index, which is the memory of processes that are gone.
    for (const name of ["parley.db", "parley.db-wal"]) {
      const from = join(dataDir, name);
      if (existsSync(from)) copyFileSync(from, join(this.#folder.path, name));
    }
    this.#file = new SqliteFile(join(this.#folder.path, "parley.db"), { strict: true });
  }

  /** The first column of the query's rows, as text, sorted. */
  column(sql: string): string[] {
    return this.#file
      .query(sql)
      .values()
      .map(([value]) => (typeof value === "string" ? value : JSON.stringify(value)))
      .toSorted((one, other) => (one < other ? -1 : 1));
  }

  /** The problems that SQLite finds in the file. */
  damage(): string[] {
    return this.column("PRAGMA integrity_check").filter((found) => found !== "ok");
  }

  /** The number of logged attempts by `subscription event`. */
  attempts(): Map<string, number> {
    const pairs = this.column("SELECT subscription_id || ' ' || event_id FROM attempts");
    return new Map([...Map.groupBy(pairs, (pair) => pair)].map(([pair, all]) => [pair, all.length]));
  }

  /** The envelope of each stored event, as it is sent. */
  envelopes(): string[] {
    const at = `strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000, 'unixepoch') || printf('.%03d+00:00', created_at % 1000)`;
    return this.column(
      `SELECT printf('{"id":"%s","type":"%s","created_at":"%s","data":%s}', id, type, ${at}, data) FROM events`,
    );
  }

  /** What is still queued, by `subscription event`. */
  queued(): Set<string> {
    return new Set(
      this.column(
        "SELECT subscription_id || ' ' || events.id FROM jobs JOIN events ON events.seq = event_seq",
      ),
    );
  }

  [Symbol.dispose](): void {
    this.#file.close();
    this.#folder[Symbol.dispose]();
  }
}
