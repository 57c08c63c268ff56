import type { Benchmark, Figures, Goal, Scale, Sides } from "./benchmark.ts";

/** The outcome of a benchmark: each side's figures by round, and whether its goals are met. */
export type Result = {
  name: string;
  benchmark: Benchmark;
  sides: Array<{ name: string; runs: Figures[] }>;
  verdicts: Verdict[];
};

/** `value` is the median over the rounds of the ratio within a round, or of the difference for `atMostMore`. */
export type Verdict = { goal: Goal; value: number; isMet: boolean };

/**
 * Runs the sides in turn, first the warm-ups, which do not count, then the rounds of the scale. In turn, so that
 * anything that slows the machine for a while slows all sides.
 */
export async function runBenchmark(name: string, benchmark: Benchmark, scale: Scale): Promise<Result> {
  await using stack = new AsyncDisposableStack();
  const sides = await benchmark.start(scale, stack);
  const runs = Object.keys(sides).map((side) => ({ name: side, runs: [] as Figures[] }));
  const { warmUps, rounds } = benchmark.isOneRun ? { warmUps: 0, rounds: 1 } : scale;
  for (let round = 0; round < warmUps; round++) await runRound(sides);
  for (let round = 0; round < rounds; round++) {
    const figures = await runRound(sides);
    for (const side of runs) side.runs.push(figures.get(side.name) ?? {});
  }
  return { name, benchmark, sides: runs, verdicts: benchmark.goals.map((goal) => judge(goal, runs)) };
}

async function runRound(sides: Sides): Promise<Map<string, Figures>> {
  const figures = new Map<string, Figures>();
  for (const [name, run] of Object.entries(sides)) figures.set(name, await run());
  return figures;
}

function judge(goal: Goal, sides: Result["sides"]): Verdict {
  const runsOf = (name: string) => sides.find((side) => side.name === name)?.runs ?? [];
  const against = runsOf(goal.against);
  const values = runsOf(goal.of).map((run, round) => {
    const [value, other] = [run[goal.figure], against[round]?.[goal.figure]];
    if (value === undefined || other === undefined)
      throw new Error(`No ${goal.figure} of ${goal.of} and ${goal.against}`);
    return "atMostMore" in goal ? value - other : value / other;
  });
  const value = median(values);
  return { goal, value, isMet: "atLeast" in goal ? value >= goal.atLeast : value <= limitOf(goal) };
}

function limitOf(goal: Exclude<Goal, { atLeast: number }>): number {
  return "atMost" in goal ? goal.atMost : goal.atMostMore;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}
