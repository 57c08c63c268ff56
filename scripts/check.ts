import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresVersion } from "../test/support/postgres-programs.ts";

/** The tests that run on PostgreSQL too: of the API's rules, of who may do what, and of what is queued. */
const onPostgres = [
  "test/acceptance",
  "test/audit",
  "test/channels",
  "test/outbox",
  "test/permissions",
  "test/tokens",
];

const packaging = [...new Bun.Glob("packaging/*.sh").scanSync()];

/** Every gate that a change has to pass, in the order in which they run. */
const gates: [name: string, command: string[]][] = [
  ["format", ["bun", "run", "oxfmt", "--check"]],
  ["lint", ["bun", "run", "lint"]],
  ["layers", ["bun", "scripts/layers.ts"]],
  ["shell scripts", ["shellcheck", "install.sh", "test.sh", "scripts/find-bun.sh", ".ci/run", ...packaging]],
  ["types", ["bun", "run", "types"]],
  ["dead code", ["bun", "run", "knip"]],
  ["third-party notices", ["bun", "scripts/notices.ts", "--check"]],
  ["build", ["bun", "run", "build"]],
];

/** Judges nothing, so it runs next to the tests on PostgreSQL. */
const benchmarks = ["bun", "run", "bench", "--quick"];

// A test needs Litestream, which takes minutes to build the first time. The test says so if that fails.
const litestream = Bun.spawn(["bun", "scripts/build-litestream.ts"], {
  stdio: ["ignore", "ignore", "ignore"],
});

let passed = 0;
let failed = 0;

for (const [name, command] of gates) await runGate(name, command);
await Promise.all([
  runGate("benchmarks, tried for a moment", benchmarks),
  postgresVersion > 0 &&
    runTests(`PostgreSQL ${postgresVersion}`, onPostgres, { PARLEY_TEST_ENGINE: "postgres" }),
]);
await runTests("SQLite", []);
litestream.kill();
console.log(
  postgresVersion > 0
    ? `Tested on SQLite, and on PostgreSQL ${postgresVersion}: ${onPostgres.join(", ")}.`
    : "Tested on SQLite alone: there is no PostgreSQL here. Debian's package is postgresql.",
);

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runGate(name: string, command: string[]): Promise<void> {
  const { ok, seconds } = await run(command);
  if (ok) passed += 1;
  else failed += 1;
  report(name, ok, seconds);
}

/** Runs the tests of these folders, or all, on one engine, and counts them. */
async function runTests(
  engine: string,
  folders: readonly string[],
  environment: Record<string, string> = {},
): Promise<void> {
  const reportFolder = mkdtempSync(join(tmpdir(), "parley-check-"));
  const reportFile = join(reportFolder, "junit.xml");
  const reporter = ["--reporter=junit", `--reporter-outfile=${reportFile}`];
  const tests = await run(["bun", "run", "test", ...reporter, ...folders], environment);
  const counts = testCounts(reportFile);
  rmSync(reportFolder, { recursive: true });
  if (counts.failed === 0 && (!tests.ok || counts.passed === 0)) {
    console.error(
      "No test failed by itself: there was an error outside of the tests, a crash, or nothing to run.",
    );
    counts.failed = 1;
  }
  passed += counts.passed;
  failed += counts.failed;
  report(`tests on ${engine}`, counts.failed === 0, tests.seconds);
}

/** Runs a command and streams its output. A program that is not installed counts as failed and is named. */
async function run(
  command: string[],
  environment: Record<string, string> = {},
): Promise<{ ok: boolean; seconds: number }> {
  const started = performance.now();
  let ok = false;
  try {
    // With CI set, Bun refuses a forgotten `test.only`, which would skip all other tests.
    const env = { ...process.env, ...environment, CI: "true" };
    ok = (await Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"], env }).exited) === 0;
  } catch (error) {
    console.error(`${command.join(" ")}: ${String(error)}`);
  }
  return { ok, seconds: (performance.now() - started) / 1000 };
}

function report(name: string, ok: boolean, seconds: number): void {
  console.log(`${ok ? "ok    " : "FAILED"}  ${name} (${seconds.toFixed(1)} s)`);
}

/** The counts in a JUnit report's closing element, zeros without a report. A skipped test has not passed. */
function testCounts(file: string): { passed: number; failed: number } {
  let summary: string | undefined;
  try {
    summary = /<testsuites [^>]*>/.exec(readFileSync(file, "utf8"))?.[0];
  } catch {
    // Bun writes no report when no test ran.
  }
  const count = (name: string) => Number(new RegExp(` ${name}="(\\d+)"`).exec(summary ?? "")?.[1] ?? 0);
  const notPassed = count("failures") + count("skipped");
  return { passed: count("tests") - notPassed, failed: notPassed };
}
