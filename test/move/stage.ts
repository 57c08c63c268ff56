import { SQL } from "bun";
import { expect } from "bun:test";
import { Database as SqliteFile } from "bun:sqlite";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { openConnections } from "../../src/database/postgres/connections.ts";
import { migratePostgres } from "../../src/database/postgres/migrate.ts";
import { type Ran, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { freshDatabase } from "../support/postgres.ts";
import { parley } from "../support/server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temporary-folder.ts";

/** What `parley move --json` prints. */
export type Moved = {
  from: string;
  to: string;
  rows: number;
  digest: string;
  resumed_rows: number;
  tables: Array<{ name: string; rows: number; sha256: string }>;
};

/** How many messages the workspace has. */
export const messages = 5_000;

/** A workspace on SQLite with the team Acme, and an empty database that it may be moved to. */
export class MoveStage implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  #database: Awaited<ReturnType<typeof freshDatabase>> | undefined;
  #sql: SQL | undefined;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
  }

  static async start(): Promise<MoveStage> {
    const stage = new MoveStage(temporaryFolder());
    await runJson(stage.acme, ["init", "--team", "Acme", "--owner", "Ada"]);
    using file = new SqliteFile(join(stage.acme, "parley.db"));
    file.run(
      `WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${messages})
       INSERT INTO messages (id, channel_id, position, author_id, type, body, created_at)
       SELECT printf('01890000-0000-7000-8000-%012x', number), channels.id, number, users.id, 'standard',
         'message ' || number, 1700000000000 + number FROM numbers, channels, users`,
    );
    file.run("UPDATE channels SET last_position = ?", [messages]);
    return stage;
  }

  /** The data folder of the workspace, which stays as it is. */
  get acme(): string {
    return this.path("acme");
  }

  /** The path of something in the folder of the stage. */
  path(name: string): string {
    return join(this.#folder.path, name);
  }

  /** A copy of the data folder of Acme. */
  copyOfAcme(name: string): string {
    cpSync(this.acme, this.path(name), { recursive: true });
    return this.path(name);
  }

  /** Puts an empty database in the place of the one before. */
  async nextDatabase(): Promise<void> {
    await this.#dropDatabase();
    this.#database = await freshDatabase();
    this.#sql = new SQL(this.#database.url, { max: 1 });
  }

  /** The URL of the database. */
  get url(): string {
    return this.#database?.url ?? "";
  }

  /** One connection to the database. */
  get sql(): SQL {
    if (!this.#sql) throw new Error("There is no database yet.");
    return this.#sql;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dropDatabase();
    this.#folder[Symbol.dispose]();
  }

  async #dropDatabase(): Promise<void> {
    await this.#sql?.close();
    await this.#database?.[Symbol.asyncDispose]();
  }
}

/** Moves the workspace of the folder there, by the command. */
export async function moveTo(dataDir: string, to: string): Promise<Moved> {
  return await runJson<Moved>(dataDir, ["move", "--to", to, "--yes"]);
}

/** A move that has begun: it waits until `goOn`. */
type Moving = AsyncDisposable & { goOn(): Promise<void>; interrupt(): void; ended: Promise<Ran> };

/** Starts a move of the folder to the database of the stage, which waits when part of the messages is copied. */
export async function startMove({ sql, url }: MoveStage, dataDir: string): Promise<Moving> {
  const connections = openConnections(url);
  await migratePostgres(connections);
  await connections.close();
  await sql.unsafe(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM messages) > 1000 THEN
        PERFORM pg_advisory_xact_lock_shared(1);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER wait_for_test BEFORE INSERT ON messages EXECUTE FUNCTION wait_for_test()`);
  await sql`SELECT pg_advisory_lock(1)`;
  const child = Bun.spawn([parley, "--data-dir", dataDir, "move", "--to", url, "--yes", "--json"], {
    env: { HOME: "/nonexistent" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  await until("the move waits", async () => {
    expect(child.exitCode).toBeNull();
    return await isWaiting(sql);
  });
  return {
    ended: said.then(([stdout, stderr, status]) => ({ stdout, stderr, status })),
    interrupt: () => child.kill("SIGINT"),
    async goOn() {
      await sql`SELECT pg_advisory_unlock(1)`;
      await sql`DROP FUNCTION wait_for_test CASCADE`;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Kills a move of the folder when part of the messages is copied. */
export async function killInTheMiddle(stage: MoveStage, dataDir: string): Promise<void> {
  const moving = await startMove(stage, dataDir);
  await moving[Symbol.asyncDispose]();
  await cutConnection(stage);
  await moving.goOn();
}

/** Ends the connection of the move that waits. Returns once the database holds nothing for it. */
export async function cutConnection({ sql }: MoveStage): Promise<void> {
  await until("the connection has ended", async () => {
    await sql`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE ${waiting(sql)}`;
    return !(await isWaiting(sql));
  });
}

/** Whether somebody waits for a lock of the database. */
export async function isWaiting(sql: SQL): Promise<boolean> {
  return (await sql`SELECT 1 FROM pg_locks WHERE ${waiting(sql)}`).length > 0;
}

function waiting(sql: SQL) {
  return sql`NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
}
