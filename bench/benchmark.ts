/** What one run of one side came to; a run gives the figures that make sense for it. */
export type Figures = {
  perSecond?: number;
  p50Ms?: number;
  p99Ms?: number;
  worstMs?: number;
  /** Of the posts beside what the other figures are about. */
  postP99Ms?: number;
  /** Resident memory of the measured process at the end of the run, in MiB. */
  rssMb?: number;
  openFiles?: number;
  /** The size of the write-ahead log, in MiB. */
  walMb?: number;
};

/** What must hold between two sides of a benchmark, as a ratio of one figure, or as how much more it may be. */
export type Goal = { figure: keyof Figures; of: string; against: string } & (
  | { atLeast: number }
  | { atMost: number }
  | { atMostMore: number }
);

/** The sides of a benchmark by name, each one a run that is measured. They take turns, a round at a time. */
export type Sides = Record<string, () => Promise<Figures>>;

/** How much is done: everything for figures that count, or just enough to see that it works. */
export type Scale = {
  /** Rounds that are run first and do not count. */
  warmUps: number;
  rounds: number;
  /** How long one run lasts. */
  seconds: number;
  /** Whether the figures count. Where not, a run is no failure for being too short or too long for them. */
  isJudged: boolean;
  /** Shrinks the size of a table, of a queue or of a span where little will do. */
  of(full: number): number;
};

/** The default export of each file under `rows/`. */
export type Benchmark = {
  /** Its place among the results. */
  row: number;
  title: string;
  /** What the sides are and how the figures come about, for the reader of the results. */
  method: string;
  goals: Goal[];
  /** Run once and without a warm-up: its sides are stretches of one long run. */
  isOneRun?: true;
  /** Makes everything ready. What is put on the stack is stopped and removed after the last round. */
  start(scale: Scale, stack: AsyncDisposableStack): Promise<Sides>;
};

export const fullScale: Scale = { warmUps: 1, rounds: 3, seconds: 6, isJudged: true, of: (full) => full };

/** One cold round of a second, and tables of a fiftieth. */
export const quickScale: Scale = {
  warmUps: 0,
  rounds: 1,
  seconds: 1,
  isJudged: false,
  of: (full) => Math.ceil(full / 50),
};
