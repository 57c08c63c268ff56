import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { until } from "./conditions.ts";
import {
  account,
  asAccount,
  command,
  postgresVersion,
  requireFolderOfPrograms,
  runNow,
  textOf,
} from "./postgres-programs.ts";

/** How PostgreSQL is told to stop: letting transactions end, ending them, or as after a crash. */
type StopMode = "smart" | "fast" | "immediate";

/** Fast rather than durable: what a test database holds is worth nothing after the test. */
const settingsOfTests = {
  fsync: "off",
  full_page_writes: "off",
  max_connections: "300",
  shared_buffers: "32MB",
  max_wal_size: "256MB",
  // In its folder, and gone with it when it is killed.
  dynamic_shared_memory_type: "mmap",
  autovacuum: "off",
  jit: "off",
};

/** Without a standby the log of a test database can be as short as possible, which makes a new database cheaper. */
const settingsWithoutStandby = { wal_level: "minimal", max_wal_senders: "0" };

const user = "parley";

/** A running PostgreSQL of Debian's packages, for one test or one run: `await using postgres = await startPostgres()`. */
export class TestPostgres implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly password: string;
  readonly #remove: () => Promise<void>;

  constructor(parts: Pick<TestPostgres, "folder" | "port" | "password"> & { remove: () => Promise<void> }) {
    this.folder = parts.folder;
    this.port = parts.port;
    this.password = parts.password;
    this.#remove = parts.remove;
  }

  /** The address of the database, with the password. */
  url(database: string): string {
    return `postgres://${user}:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** The number of its first process, which a test may end. */
  get pid(): number {
    return Number(readFileSync(join(this.folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  }

  /** What it has written to its log so far. */
  log(): string {
    return textOf(join(this.folder, "log"));
  }

  /** Runs one statement as the superuser on a connection of its own, and returns its rows. */
  async query<Row>(statement: string, database = "postgres"): Promise<Row[]> {
    const sql = new SQL(this.url(database), { max: 1 });
    try {
      return [...((await sql.unsafe(statement)) as Row[])];
    } finally {
      await sql.close();
    }
  }

  /**
   * Makes a database of this name, like `template`, which nobody may be connected to, and returns its address. Takes
   * about 20 ms: files are copied instead of logged.
   */
  async createDatabase(name: string, template = "template1"): Promise<string> {
    await this.query(creation(name, template));
    return this.url(name);
  }

  /** As `createDatabase`, while the whole process waits, for where a test cannot. */
  createDatabaseNow(name: string, template: string): void {
    const to = ["-h", this.folder, "-p", String(this.port), "-U", user, "-d", "postgres"];
    runNow(["psql", ...to, "--no-psqlrc", "-q", "-c", creation(name, template)]);
  }

  /** Removes the database, ending whoever is connected to it. */
  async dropDatabase(name: string): Promise<void> {
    await this.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
  }

  /** Starts it after a stop or a crash, on the port that it had. Returns when it accepts connections. */
  async start(): Promise<void> {
    await command(this.folder, ["pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "60", "start"]);
  }

  async stop(mode: StopMode = "fast"): Promise<void> {
    await command(this.folder, ["pg_ctl", "-D", "data", "-m", mode, "-w", "-t", "60", "stop"]);
  }

  /** Ends all its processes at once, as a machine that goes down does. */
  async kill9(): Promise<void> {
    const { pid } = this;
    const processes = [pid, ...childrenOf(pid)];
    processes.forEach(killIfThere);
    await until("PostgreSQL has ended", () => !processes.some(isAlive));
    // Until somebody has asked how it ended it would be taken for one that still runs, and in a container nobody may.
    rmSync(join(this.folder, "data", "postmaster.pid"));
    rmSync(join(this.folder, `.s.PGSQL.${this.port}.lock`));
  }

  /** Makes a standby the primary. Returns when it accepts writes. */
  async promote(): Promise<void> {
    await command(this.folder, ["pg_ctl", "-D", "data", "-w", "-t", "60", "promote"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove();
  }
}

/**
 * Starts a PostgreSQL with no data but the superuser, or as a standby of another that was started with
 * `withStandby`. It listens on a free port of 127.0.0.1 and on a socket in its folder, and is gone with the test run at
 * the latest, also when the run is killed. `settings` are those of postgresql.conf. With `onDisk` its data is not kept in
 * memory.
 * @throws when there is no PostgreSQL on this machine; when it does not start, with what it said.
 */
export async function startPostgres(
  options: {
    settings?: Record<string, string>;
    onDisk?: boolean;
    withStandby?: boolean;
    standbyOf?: TestPostgres;
  } = {},
): Promise<TestPostgres> {
  requireFolderOfPrograms();
  const folder = mkdtempSync(join((!options.onDisk && roomyMemory()) || tmpdir(), "parley-postgres-"));
  if (account) chownSync(folder, account.uid, account.gid);
  const remove = keep(folder);
  const { standbyOf } = options;
  const password = standbyOf?.password ?? crypto.randomUUID();
  try {
    if (standbyOf) {
      const from = ["-h", standbyOf.folder, "-p", String(standbyOf.port), "-U", user];
      await command(folder, ["pg_basebackup", ...from, "-D", "data", "-R", "-X", "stream", "-c", "fast"]);
    } else {
      await initialize(folder, password);
    }
    const isReplicated = options.withStandby === true || standbyOf !== undefined;
    const settings = {
      ...settingsOfTests,
      ...(isReplicated ? {} : settingsWithoutStandby),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: folder,
      ...options.settings,
    };
    const port = await startOnFreePort(folder, settings);
    return new TestPostgres({ folder, port, password, remove });
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * A cluster as its operators have them: its default order of text is that of a language, so a column or a statement
 * that forgets to say otherwise sorts differently from SQLite.
 */
async function initialize(folder: string, password: string): Promise<void> {
  writeFileSync(join(folder, "password"), password);
  const locale = postgresVersion >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : [];
  const access = ["--auth-local=trust", "--auth-host=md5", "--pwfile=password", "-U", user];
  await command(folder, [
    "initdb",
    "-D",
    "data",
    "-E",
    "UTF8",
    "--locale=C",
    ...locale,
    ...access,
    "--no-sync",
  ]);
  appendFileSync(join(folder, "data", "postgresql.conf"), "include 'tests.conf'\n");
}

function creation(name: string, template: string): string {
  const strategy = postgresVersion >= 15 ? " STRATEGY file_copy" : "";
  return `CREATE DATABASE "${name}" TEMPLATE "${template}"${strategy}`;
}

/** Between the choice of a port and its use somebody else may take it, whereupon another is tried. */
async function startOnFreePort(folder: string, settings: Record<string, string>): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = freePort();
    const lines = Object.entries({ ...settings, port: String(port) }).map(
      ([name, value]) => `${name} = '${value}'\n`,
    );
    writeFileSync(join(folder, "data", "tests.conf"), lines.join(""));
    try {
      await command(folder, ["pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "60", "start"]);
      return port;
    } catch (error) {
      if (attempt === 5 || !String(error).includes("could not bind")) throw error;
    }
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

/** A process may have ended by itself meanwhile. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (isAlive(pid)) throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

/**
 * Stops what runs in the folder and removes it when the returned function is called, and also when this process ends or
 * is killed, since the keeper's standard input ends with it. In a group of its own, the keeper outlives an interrupt.
 */
function keep(folder: string): () => Promise<void> {
  const stop = [...asAccount(), join(requireFolderOfPrograms(), "pg_ctl")].join(" ");
  const script = `read -r _; cd "$0" && ${stop} -D data -m immediate -w stop; cd / && rm -rf "$0"`;
  const keeper = Bun.spawn(["sh", "-c", script, folder], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  });
  keeper.unref();
  return async () => {
    await keeper.stdin.end();
    await keeper.exited;
  };
}

/** A file system in memory with room for what a run holds at once: a new database is made of 300 files. */
function roomyMemory(): string | undefined {
  const path = "/dev/shm";
  if (!existsSync(path)) return undefined;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize >= 2 ** 31 ? path : undefined;
}

let shared: Promise<TestPostgres> | undefined;
let databases = 0;

/** The PostgreSQL that this process starts once, for all tests that do not stop it. */
export function sharedPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres();
  return shared;
}

/** A new empty database in the shared PostgreSQL: `await using database = await freshDatabase()`. */
export async function freshDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const postgres = await sharedPostgres();
  const name = `test_${++databases}`;
  return {
    url: await postgres.createDatabase(name),
    [Symbol.asyncDispose]: () => postgres.dropDatabase(name),
  };
}
