/** The figures of one run of one side; a run gives those that make sense for it. */
export type Figures = {
  perSecond?: number;
  p50Ms?: number;
  p99Ms?: number;
  worstMs?: number;
  /** Of the posts that run next to what the other figures measure. */
  postP99Ms?: number;
  /** Resident memory of the measured process at the end of the run, in MiB. */
  rssMb?: number;
  openFiles?: number;
  /** The size of the write-ahead log, in MiB. */
  walMb?: number;
};

/** A bound between two sides of a benchmark: on the ratio of one figure, or on its difference (`atMostMore`). */
export type Goal = { figure: keyof Figures; of: string; against: string } & (
  | { atLeast: number }
  | { atMost: number }
  | { atMostMore: number }
);

/** The sides of a benchmark by name; each call is one measured run. They take turns, a round at a time. */
export type Sides = Record<string, () => Promise<Figures>>;

/** How much a run does: everything, for figures that count, or just enough to see that it works. */
export type Scale = {
  /** How many rounds run first and do not count. */
  warmUps: number;
  rounds: number;
  /** How long one run lasts. */
  seconds: number;
  /** Whether the figures count. If not, a run that is too short or too long for them has not failed. */
  isJudged: boolean;
  /** Scales the size of a table, a queue or a time span down where a little is enough. */
  of(full: number): number;
};

/** The default export of each file under `rows/`. */
export type Benchmark = {
  /** Its number in the results. */
  row: number;
  title: string;
  /** Explains the sides and how they are measured, for the reader of the results. */
  method: string;
  goals: Goal[];
  /** Runs once and without a warm-up, because its sides are stretches of one long run, or long runs themselves. */
  isOneRun?: true;
  /** Prepares the sides. The stack is disposed of after the last round. */
  start(scale: Scale, stack: AsyncDisposableStack): Promise<Sides>;
};

export const fullScale: Scale = { warmUps: 1, rounds: 3, seconds: 6, isJudged: true, of: (full) => full };

/** One cold round of a second, with tables a fiftieth of their size. */
export const quickScale: Scale = {
  warmUps: 0,
  rounds: 1,
  seconds: 1,
  isJudged: false,
  of: (full) => Math.ceil(full / 50),
};
