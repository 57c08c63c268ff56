import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { type Benchmark, fullScale, quickScale } from "./benchmark.ts";
import { machineReport } from "./machine.ts";
import { buildParley } from "./parley.ts";
import { measurePeers } from "./peers/peers.ts";
import { writeRows } from "./peers/results-file.ts";
import { benchmarkReport, summaryReport } from "./report.ts";
import { type Result, runBenchmark } from "./rounds.ts";

const usage = `Usage: bun run bench [--quick] [--only NAME]...
       bun run bench --peers [--quick]

Measures the compiled server next to the floor under it and writes bench/RESULTS.md. Takes half an hour, on a machine
that does nothing else.

  --quick      try every benchmark for a moment, judge nothing and write no file (a minute)
  --only NAME  only this one, shown and not written to the file; NAME is a file in bench/rows without ".ts"
  --peers      compare with PocketBase instead and write only that section of the file (five minutes; needs Go)
`;

/** A quick run takes a minute; one that is not over by then hangs. */
const quickMsMax = 300_000;

const { values } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string", multiple: true },
    peers: { type: "boolean" },
    help: { type: "boolean" },
  },
});
const limit = values.quick ? setTimeout(giveUp, quickMsMax) : undefined;
if (values.help) console.log(usage);
else if (values.peers) await measurePeers(values.quick ? quickScale : fullScale);
else await measure(values.quick === true, values.only ?? []);
clearTimeout(limit);

function giveUp(): never {
  console.error(`Not over after ${quickMsMax / 1000} seconds: something is waited for that does not come.`);
  process.exit(1);
}

async function measure(isQuick: boolean, only: string[]): Promise<void> {
  const benchmarks = await findBenchmarks(only);
  await buildParley();
  const machine = await machineReport();
  console.log(machine);

  const results: Result[] = [];
  const broken: string[] = [];
  for (const { name, benchmark } of benchmarks) {
    try {
      const result = await runBenchmark(name, benchmark, isQuick ? quickScale : fullScale);
      results.push(result);
      console.log(`\n${benchmarkReport(result)}`);
    } catch (error) {
      // A benchmark that fails must not cost the figures of the others.
      if (isQuick) throw error;
      broken.push(`\`${name}\` broke off: ${error instanceof Error ? error.message : String(error)}`);
      console.error(error);
    }
    if (only.length > 0 || isQuick) continue;
    const report = ["# Results", machine, ...broken, summaryReport(results), ...results.map(benchmarkReport)];
    await writeRows(`${report.join("\n\n")}\n`);
  }
  if (isQuick) return;

  console.log(`\n${summaryReport(results)}`);
  if (broken.length > 0) process.exitCode = 1;
  if (results.some(({ verdicts }) => verdicts.some(({ isMet }) => !isMet))) process.exitCode = 1;
}

/** The benchmarks with these names, or all without names, in the order of their rows. */
async function findBenchmarks(only: string[]): Promise<Array<{ name: string; benchmark: Benchmark }>> {
  const folder = join(import.meta.dir, "rows");
  const names = readdirSync(folder).map((file) => basename(file, ".ts"));
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no benchmark ${unknown}; there are ${names.join(", ")}.`);
  const found = await Promise.all(
    (only.length > 0 ? only : names).map(async (name) => {
      const { default: benchmark } = (await import(join(folder, `${name}.ts`))) as { default: Benchmark };
      return { name, benchmark };
    }),
  );
  return found.toSorted((a, b) => a.benchmark.row - b.benchmark.row);
}
