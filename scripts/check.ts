import { postgresVersion } from "../test/support/postgres-programs.ts";
import { runTests } from "./test-runs.ts";

const packaging = [...new Bun.Glob("packaging/*.sh").scanSync()];

/** Whether nobody reads along who would notice that something was left out. */
const isUnattended = (process.env.CI ?? "") !== "";

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

/** Judges nothing, so it runs next to the tests. */
const benchmarks = ["bun", "run", "bench", "--quick"];

// A test needs Litestream, which takes minutes to build the first time. The test says so if that fails.
const litestream = Bun.spawn(["bun", "scripts/build-litestream.ts"], {
  stdio: ["ignore", "ignore", "ignore"],
});

let passed = 0;
let failed = 0;

for (const [name, command] of gates) await runGate(name, command);
const [tests] = await Promise.all([runTests(), runGate("benchmarks, tried for a moment", benchmarks)]);
litestream.kill();
for (const { engine, passed: passedTests, notPassed, seconds } of tests) {
  passed += passedTests;
  failed += notPassed.length;
  report(`tests on ${engine}`, notPassed.length === 0, seconds);
  for (const name of notPassed) console.log(`        ${name}`);
}
const engines = tests
  .slice(0, 2)
  .map(({ engine }) => engine)
  .join(" and ");
if (postgresVersion > 0) {
  console.log(`Tested on ${engines}.`);
} else if (isUnattended) {
  failed += 1;
  console.error(`Tested on ${engines} alone: there is no PostgreSQL here, and CI must not do without.`);
} else {
  console.log(`Tested on ${engines} alone: there is no PostgreSQL here. Debian's package is postgresql.`);
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runGate(name: string, command: string[]): Promise<void> {
  const { ok, seconds } = await run(command);
  if (ok) passed += 1;
  else failed += 1;
  report(name, ok, seconds);
}

/** Runs a command and streams its output. A program that is not installed counts as failed and is named. */
async function run(command: string[]): Promise<{ ok: boolean; seconds: number }> {
  const started = performance.now();
  let ok = false;
  try {
    // With CI set, Bun refuses a forgotten `test.only`, which would skip all other tests.
    const env = { ...process.env, CI: "true" };
    ok = (await Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"], env }).exited) === 0;
  } catch (error) {
    console.error(`${command.join(" ")}: ${String(error)}`);
  }
  return { ok, seconds: (performance.now() - started) / 1000 };
}

function report(name: string, ok: boolean, seconds: number): void {
  console.log(`${ok ? "ok    " : "FAILED"}  ${name} (${seconds.toFixed(1)} s)`);
}
