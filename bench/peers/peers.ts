import type { Scale } from "../benchmark.ts";
import { machineReport } from "../machine.ts";
import { buildParley } from "../parley.ts";
import { type Result, runBenchmark } from "../rounds.ts";
import { comparisons } from "./comparisons.ts";
import { aboutPocketBase, buildPocketBase } from "./pocketbase.ts";
import { writeSection } from "./results-file.ts";
import { peersReport } from "./report.ts";

/** Measures PocketBase in turn with Parley. Writes the section on it to RESULTS.md, except in a quick run. */
export async function measurePeers(scale: Scale): Promise<void> {
  if (Bun.which("go") === null) {
    console.log("PocketBase was not measured: building it needs Go, which is not installed here.");
    return;
  }
  await buildParley();
  await buildPocketBase();
  const machine = await machineReport();
  const about = await aboutPocketBase();

  const results: Result[] = [];
  for (const comparison of comparisons) results.push(await runBenchmark("peers", comparison, scale));
  const report = peersReport(machine, about, results);
  console.log(report);
  if (scale.isJudged) await writeSection(report);
}
