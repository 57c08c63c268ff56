import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/*
 * Which test file runs on which engine. A file runs on both if it comes to a workspace at all, that is if its imports
 * reach one of `doors`, unless it is listed here. All files run on SQLite.
 */

const root = join(import.meta.dir, "..", "..");

/** Through these a test comes to a workspace. */
const doors = ["workspace.ts", "server.ts", "cli.ts", "data.ts"].map((name) => `test/support/${name}`);

/** Files and folders about what SQLite alone has, or about an engine of their own choice. */
export const notOnPostgres = {
  "test/alerts/workspace-alerts.test.ts": "the disk and the backups of the file",
  "test/backup": "backups of files; those of PostgreSQL are pg_dump's",
  "test/replication": "Litestream",
  "test/database": "the engines themselves",
  "test/move": "from one engine to the other",
  "test/deliveries/held.test.ts": "folders that are copied",
  "test/doctor/doctor.test.ts": "the file; doctor/postgres.test.ts is its counterpart",
  "test/scim/query-plans.test.ts": "how SQLite finds rows",
  "test/hostile/data-folder.test.ts": "who may read the file",
  "test/hostile/failing-checkpoints.test.ts": "the WAL",
  "test/hostile/full-disk.test.ts": "the disk of the file",
  "test/hostile/lost-files.test.ts": "files that are replaced",
  "test/hostile/unusable-data.test.ts": "files that are damaged",
} as const;

/** Files about what the program does without its data, which takes too long to see twice. */
export const withoutData = {
  "test/cli/help.test.ts": "texts of the command line",
  "test/incoming-webhooks/programs": "programs that post, over HTTP alone",
  "test/install-release.test.ts": "the installation",
  "test/openapi/docs-page.test.ts": "a page in a browser",
} as const;

/** Every test file, by its path in the repository. */
export function testFiles(): string[] {
  return [...new Bun.Glob("test/**/*.test.ts").scanSync(root)].sort();
}

/** The test files that run on PostgreSQL too, which are none of those that start one whatever the engine of the run. */
export function filesOnPostgres(): string[] {
  const once = Object.keys({ ...notOnPostgres, ...withoutData });
  const own = filesThatNeedPostgres();
  const isListed = (file: string) =>
    own.includes(file) || once.some((path) => file === path || file.startsWith(`${path}/`));
  return testFiles().filter((file) => !isListed(file) && doors.some((door) => reachedFrom(file).has(door)));
}

/** The test files that start a PostgreSQL whatever the engine of the run is: about PostgreSQL itself. */
export function filesThatNeedPostgres(): string[] {
  const engine = "test/support/engine.ts";
  return testFiles().filter((file) => reachedFrom(file, [engine]).has("test/support/postgres.ts"));
}

/** The files under test/ that the file imports, and those that these import, without going on from `ends`. */
function reachedFrom(file: string, ends: readonly string[] = [], reached = new Set<string>()): Set<string> {
  if (reached.has(file)) return reached;
  reached.add(file);
  if (!ends.includes(file)) for (const path of importsOf(file)) reachedFrom(path, ends, reached);
  return reached;
}

const known = new Map<string, string[]>();

function importsOf(file: string): string[] {
  const imports =
    known.get(file) ??
    new Bun.Transpiler({ loader: "ts" })
      .scanImports(readFileSync(join(root, file), "utf8"))
      .filter(({ path }) => path.startsWith("."))
      .map(({ path }) => join(dirname(file), path))
      .filter((path) => path.startsWith("test/") && path.endsWith(".ts"));
  known.set(file, imports);
  return imports;
}
