import { Database as SqliteFile } from "bun:sqlite";
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { factsOf } from "../backup/workspace-facts.ts";
import { migrations as known } from "../database/migrations.ts";
import { copyDatabase, type Copying } from "../database/snapshot.ts";
import { DomainError } from "../errors.ts";
import { version } from "../version.ts";
import { type Booted, bootAndRead } from "./boot.ts";
import { trialFolder } from "./folder.ts";
import { makeHarmless } from "./harmless.ts";

/** What an upgrade to the program would take, as tried on a copy. */
export type Rehearsal = Booted & {
  /** Null when the data is of an older version than this program, which cannot know which. */
  from: string | null;
  to: string;
  /** The migrations that the program applied. */
  migrations: string[];
  migrated_in_ms: number;
  bytes_before: number;
  bytes_after: number;
  teams: number;
};

/**
 * Tries an upgrade on a copy of the workspace, which may be served meanwhile: lets the program migrate the copy, serves
 * it, reads from it, and removes it.
 * @throws DomainError `invalid` when the file is no parley that this machine can run; `conflict` when the migration or
 *   the start fails, with what the program said.
 */
export async function rehearseUpgrade(dataDir: string, file: string, copying: Copying): Promise<Rehearsal> {
  const program = resolve(file);
  const to = await versionOf(program);
  const database = join(dataDir, "parley.db");
  using folder = trialFolder(statSync(database).size);
  const copy = join(folder.path, "parley.db");
  await copyTo(copy, database, copying);
  const before = migrationsIn(copy);
  const bytesBefore = statSync(copy).size;
  // Whoever opens older data first migrates it, and that has to be the program.
  const isOlder = known.some(({ name }) => !before.includes(name));
  const early = isOlder ? undefined : await makeHarmless(folder.path);

  const startedAt = performance.now();
  await migrateWith(program, folder.path, copying.signal);
  const migratedInMs = Math.round(performance.now() - startedAt);
  const migrations = migrationsIn(copy).filter((name) => !before.includes(name));
  const { teams, readings } = early ?? (await makeHarmless(folder.path));
  const booted = await bootAndRead(program, folder.path, readings, copying.signal);
  return {
    ...booted,
    from: isOlder ? null : version,
    to,
    migrations,
    migrated_in_ms: migratedInMs,
    bytes_before: bytesBefore,
    bytes_after: statSync(copy).size,
    teams,
  };
}

/** The version that the program prints. */
async function versionOf(program: string): Promise<string> {
  try {
    if (!statSync(program).isFile()) throw new Error("it is not a file");
    accessSync(program, constants.X_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DomainError(
      "invalid",
      `${program} cannot be run (${why}). Name the new binary, and chmod +x it.`,
    );
  }
  const { stdout } = await run([program, "--version"], {}, AbortSignal.timeout(30_000));
  const [printed] = /^\d+\.\d+\.\d+\S*( \([\w-]+\))?$/.exec(stdout.trim()) ?? [];
  if (printed !== undefined) return printed;
  throw new DomainError("invalid", `${program} is not a parley: it does not print a version of one.`);
}

async function copyTo(copy: string, database: string, copying: Copying): Promise<void> {
  const descriptor = openSync(copy, "wx+", 0o600);
  try {
    await copyDatabase(database, { descriptor, offset: 0 }, () => undefined, copying);
  } finally {
    closeSync(descriptor);
  }
}

/** Any command migrates the data that it opens. */
async function migrateWith(program: string, dataDir: string, signal?: AbortSignal): Promise<void> {
  const { status, stdout, stderr } = await run(
    [program, "teams", "list", "--json"],
    { PARLEY_DATA_DIR: dataDir },
    signal,
  );
  if (status === 0) return;
  throw new DomainError("conflict", `${program} refuses the copy: ${messageIn(stdout) ?? stderr.trim()}`);
}

function messageIn(stdout: string): string | undefined {
  try {
    const { message } = JSON.parse(stdout) as { message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

function migrationsIn(database: string): string[] {
  using file = new SqliteFile(database, { readwrite: true, strict: true });
  return factsOf(file)?.migrations ?? [];
}

async function run(command: string[], env: Record<string, string>, signal?: AbortSignal) {
  try {
    const child = Bun.spawn(command, {
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      ...(signal && { signal }),
    });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { status: await child.exited, stdout, stderr };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DomainError("invalid", `${command[0]} cannot be run on this machine (${why}).`);
  }
}
