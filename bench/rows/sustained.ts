import type { Benchmark, Figures, Scale } from "../benchmark.ts";
import { startReceiver } from "../deliveries.ts";
import { postPinned } from "../floor.ts";
import { figuresOf } from "../spans.ts";
import { type Kept, keepSteady } from "../steady.ts";
import { quickShared as concurrency } from "../../src/deliveries/places.ts";

const lateMs = 100;
const provenSeconds = 30;

/** Deliveries a second, each rate a twentieth above the one before; more than the machine can do at the end. */
const rates = Array.from({ length: 64 }, (_, step) => Math.round(100 * 1.05 ** step) * 10);

export default {
  row: 24,
  title: "Keep up with steady posts",
  method:
    "The highest rate at which deliveries keep up with posts, found by halving and then held for " +
    `${provenSeconds} s: the p99 from when a post is due until it arrives is under ${lateMs} ms, and a second after the ` +
    "last post nothing is left. Posts come when they are due, whether or not earlier ones are answered. The rate counts " +
    "deliveries: with 10 subscriptions each message goes to all of them. Posting and receiving run on the same cores as " +
    "the server. F3 as in row 5.",
  goals: [
    { figure: "perSecond", of: "1 subscription", against: "F3", atLeast: 0.5 },
    { figure: "perSecond", of: "10 subscriptions", against: "F3", atLeast: 0.75 },
  ],
  isOneRun: true,
  async start(scale, stack) {
    const receiver = stack.use(await startReceiver("0.0.0.0"));
    return {
      "1 subscription": () => highestRate(1, scale),
      "10 subscriptions": () => highestRate(10, scale),
      F3: () => postPinned(receiver.firstLine, { concurrency, seconds: scale.seconds }),
    };
  },
} satisfies Benchmark;

/** @throws when not even the lowest rate holds. */
async function highestRate(subscriptions: number, { seconds, isJudged }: Scale): Promise<Figures> {
  let step = isJudged ? await lastThatHolds(subscriptions, seconds) : 0;
  for (; step >= 0; step--) {
    const perSecond = rates[step] ?? 0;
    const kept = await keepSteady({
      subscriptions,
      perSecond,
      seconds: isJudged ? provenSeconds : seconds,
      lateMs,
    });
    if (holds(kept) || !isJudged) return figuresAt(perSecond, kept);
  }
  throw new Error(`deliveries do not keep up with ${rates[0]} a second`);
}

/** Returns the number of the last rate that holds for a short time, or -1 when none does. */
async function lastThatHolds(subscriptions: number, seconds: number): Promise<number> {
  let [low, high] = [-1, rates.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const kept = await keepSteady({ subscriptions, perSecond: rates[middle] ?? 0, seconds, lateMs });
    if (holds(kept)) low = middle;
    else high = middle;
  }
  return low;
}

function holds({ spans, left }: Kept): boolean {
  return left === 0 && (figuresOf(spans).p99Ms ?? Number.POSITIVE_INFINITY) < lateMs;
}

function figuresAt(perSecond: number, { spans, posts, rssMb }: Kept): Figures {
  return { perSecond, ...figuresOf(spans), postP99Ms: figuresOf(posts).p99Ms ?? Number.NaN, rssMb };
}
