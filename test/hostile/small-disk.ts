import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/conditions.ts";
import { atEndOfRun } from "../support/end-of-run.ts";
import { lastingPort } from "../support/lasting-port.ts";
import { TestPostgres } from "../support/postgres.ts";
import { requireFolderOfPrograms } from "../support/postgres-programs.ts";

/**
 * A disk that only this PostgreSQL sees, which is not root there although whoever mounts the disk has to be. A server that
 * ends is started again, as by a supervisor.
 */
const script = `
  mount -t tmpfs -o size=80m,mode=1777 tmpfs "$0" && cd "$2" &&
  exec unshare --user --map-user=1000 --map-group=1000 sh -c '
    "$1/initdb" -D data -E UTF8 --locale=C --auth=trust -U parley --no-sync --waldir="$3" --wal-segsize=1 || exit
    trap "kill -INT \\$!; wait; exit" INT TERM
    while :; do
      setpriv --pdeathsig INT "$1/postgres" -D data -p "$4" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off \
        -c autovacuum=off -c shared_buffers=32MB -c min_wal_size=2MB -c max_wal_size=1GB &
      wait
      sleep 0.2
    done' sh "$@"`;

/** A PostgreSQL on a disk of 80 MB. */
export class SmallDisk {
  readonly postgres: TestPostgres;
  readonly #path: string;

  constructor(postgres: TestPostgres, path: string) {
    this.postgres = postgres;
    this.#path = path;
  }

  /** Leaves this many bytes. */
  fill(left: number): void {
    const { bavail, bsize } = statfsSync(this.#path);
    writeFileSync(join(this.#path, "ballast"), Buffer.alloc(bavail * bsize - left));
  }

  /** Gives the room back. */
  clear(): void {
    rmSync(join(this.#path, "ballast"));
  }
}

/** Starts a PostgreSQL that has its data on a small disk of its own, or its log of changes (`pg_wal`). */
export async function startOnSmallDisk(what: "data" | "log" = "data"): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), "parley-small-disk-"));
  const log = mkdtempSync(join(tmpdir(), "parley-wal-"));
  const port = lastingPort();
  const disk = what === "data" ? folder : log;
  const words = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, disk];
  const child = Bun.spawn([...words, requireFolderOfPrograms(), folder, log, String(port)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  const remove = async () => {
    child.kill("SIGINT");
    await child.exited;
    for (const path of [folder, log]) rmSync(path, { recursive: true, force: true });
    forget();
  };
  const forget = atEndOfRun(() => {
    child.kill("SIGKILL");
    for (const path of [folder, log]) rmSync(path, { recursive: true, force: true });
  });
  const postgres = new TestPostgres({ folder, port, password: "", remove });
  await until("PostgreSQL accepts connections", () =>
    postgres.query("SELECT 1").then(
      () => true,
      () => {
        if (child.exitCode !== null) throw new Error("PostgreSQL did not start on a small disk.");
        return false;
      },
    ),
  );
  return new SmallDisk(postgres, `/proc/${child.pid}/root${disk}`);
}
