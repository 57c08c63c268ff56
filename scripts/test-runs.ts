import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filesOnPostgres, filesThatNeedPostgres, testFiles } from "../test/support/engines.ts";
import { postgresVersion } from "../test/support/postgres-programs.ts";

/** What a run of the tests on one engine gave. A skipped test has not passed. */
export type TestRun = { engine: string; passed: number; notPassed: string[]; seconds: number };

/** Most of a test's time is spent waiting, so two processors have room for two files of each run at once. */
const filesAtOnce = 2;

/** Of a file whose tests run at once: each starts programs, and a crowd of them would make all others wait. */
const testsAtOnce = 4;

/** Far more than any test takes beside others, since it only has to end one that hangs. */
const limitMs = 60_000;

/**
 * Runs the tests on both engines side by side, or on SQLite alone where there is no PostgreSQL. Those about PostgreSQL
 * itself, which need no engine of the workspace, run beside them from the beginning, so that no processor has nothing to
 * do while the last of them wait. The output of the first is shown as it comes, that of the others afterwards.
 */
export async function runTests(): Promise<TestRun[]> {
  const folder = mkdtempSync(join(tmpdir(), "parley-check-"));
  try {
    const own = filesThatNeedPostgres();
    const files = testFiles().filter((file) => !own.includes(file));
    const sqlite = run("SQLite", files, { folder });
    if (postgresVersion === 0) return [await sqlite];
    const engine = `PostgreSQL ${postgresVersion}`;
    const [later, last] = [join(folder, "postgres.log"), join(folder, "about-postgres.log")];
    const environment = { PARLEY_TEST_ENGINE: "postgres" };
    const postgres = run(engine, filesOnPostgres(), { folder, environment, output: later });
    const about = run(`${engine} itself`, own, { folder, output: last });
    const runs = await Promise.all([sqlite, postgres, about]);
    for (const output of [later, last]) process.stdout.write(readFileSync(output));
    return runs;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(
  engine: string,
  files: string[],
  {
    folder,
    environment = {},
    output,
  }: { folder: string; environment?: Record<string, string>; output?: string },
): Promise<TestRun> {
  const started = performance.now();
  const reportFile = join(folder, `${engine}.xml`);
  const command = ["bun", "test", `--parallel=${filesAtOnce}`];
  // A file's imports are read once for all files of a process, and its PostgreSQL is started once.
  command.push("--no-isolate", `--timeout=${limitMs}`, `--max-concurrency=${testsAtOnce}`);
  command.push("--reporter=junit", `--reporter-outfile=${reportFile}`);
  const stream = output === undefined ? "inherit" : Bun.file(output);
  const child = Bun.spawn([...command, ...files.map((file) => `./${file}`)], {
    // With CI set, Bun refuses a forgotten `test.only`, which would skip all other tests.
    env: { ...process.env, ...environment, CI: "true" },
    stdio: ["ignore", stream, stream],
  });
  const isDone = (await child.exited) === 0;
  const { passed, notPassed } = resultsIn(reportFile);
  if (notPassed.length === 0 && (!isDone || passed === 0)) {
    notPassed.push("no test by itself: there was an error outside of the tests, a crash, or nothing to run");
  }
  return { engine, passed, notPassed, seconds: (performance.now() - started) / 1000 };
}

/** How many tests passed according to a JUnit report, and the names of the others; none without a report. */
function resultsIn(file: string): { passed: number; notPassed: string[] } {
  let report = "";
  try {
    report = readFileSync(file, "utf8");
  } catch {
    // Bun writes no report when no test ran.
  }
  const all = [...report.matchAll(/<testcase ([^>]*?)(\/?)>/g)];
  const notPassed = all.filter(([, , end]) => end === "").map(([, attributes = ""]) => nameIn(attributes));
  return { passed: all.length - notPassed.length, notPassed };
}

/** The name of a test case by its attributes, after where it is. */
function nameIn(attributes: string): string {
  const [file, line, name] = ["file", "line", "name"].map(
    (key) => new RegExp(`(?:^| )${key}="([^"]*)"`).exec(attributes)?.[1] ?? "",
  );
  const place = line === "" ? file : `${file}:${line}`;
  return `${place}: ${unescaped(name ?? "")}`;
}

function unescaped(text: string): string {
  const entities = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&" };
  return Object.entries(entities).reduce(
    (rest, [entity, character]) => rest.replaceAll(entity, character),
    text,
  );
}
