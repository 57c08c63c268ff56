import type { Figures, Goal } from "./benchmark.ts";
import { median, type Result, type Verdict } from "./rounds.ts";

/** The heading of each figure and its number of decimal places. */
const columns: Record<keyof Figures, { head: string; digits: number }> = {
  perSecond: { head: "per second", digits: 0 },
  p50Ms: { head: "p50 (ms)", digits: 2 },
  p99Ms: { head: "p99 (ms)", digits: 2 },
  worstMs: { head: "worst (ms)", digits: 1 },
  postP99Ms: { head: "p99 of posts (ms)", digits: 2 },
  rssMb: { head: "memory (MiB)", digits: 0 },
  openFiles: { head: "open files", digits: 0 },
  walMb: { head: "log (MiB)", digits: 1 },
};

/** Every goal with its verdict, as a table. */
export function summaryReport(results: Result[]): string {
  const rows = results.flatMap(({ benchmark, verdicts }) =>
    verdicts.map(({ goal, value, isMet }) => [
      `${benchmark.row}`,
      benchmark.title,
      describe(goal),
      shown(goal, value),
      isMet ? "yes" : "**no**",
    ]),
  );
  return table(["#", "What", "Must hold", "Is", "Met"], rows);
}

/** One benchmark: its sides in a table (median, lowest and highest of the rounds), and its goals. */
export function benchmarkReport({ name, benchmark, sides, verdicts }: Result): string {
  const keys = (Object.keys(columns) as Array<keyof Figures>).filter((key) =>
    sides.some(({ runs }) => runs.some((run) => run[key] !== undefined)),
  );
  const rows = sides.map((side) => [side.name, ...keys.map((key) => spread(side.runs, key))]);
  return [
    `## ${benchmark.row}. ${benchmark.title} (\`${name}\`)`,
    benchmark.method,
    table(["", ...keys.map((key) => columns[key].head)], rows),
    verdicts.map(sentence).join("\n"),
  ].join("\n\n");
}

function sentence({ goal, value }: Verdict): string {
  return `- ${describe(goal)}: ${shown(goal, value)}`;
}

function describe(goal: Goal): string {
  const { head } = columns[goal.figure];
  if ("atMostMore" in goal) return `${head}: ${goal.of} at most ${goal.atMostMore} more than ${goal.against}`;
  const bound = "atLeast" in goal ? `at least ${goal.atLeast}` : `at most ${goal.atMost}`;
  return `${head}: ${goal.of} ${bound} × ${goal.against}`;
}

function shown(goal: Goal, value: number): string {
  return "atMostMore" in goal ? `${value.toFixed(1)} more` : `${value.toFixed(2)} ×`;
}

function spread(runs: Figures[], key: keyof Figures): string {
  const values = runs.map((run) => run[key]).filter((value) => value !== undefined);
  if (values.length === 0) return "";
  const text = (value: number) => value.toFixed(columns[key].digits);
  if (values.length === 1) return text(median(values));
  return `${text(median(values))} (${text(Math.min(...values))}–${text(Math.max(...values))})`;
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
