/** How many attempts one subscription may have under way at once, however well it does. */
export const atOnceMax = 20;

/** After so long without work, in milliseconds, a receiver is tried with one request again. */
const idleMs = 60_000;

/** An attempt that takes longer than this, in milliseconds, shows a slow receiver. */
const slowAfterMs = 1_000;

/** `WEBHOOKS_BACKOFF_BASE` over this is the wait after the second failure in a row; five times as long after each further one. */
const paceDivisor = 20;
const paceFactor = 5;
/** The longest wait of the pace, in backoff bases. */
const paceBasesMax = 6;

/** What a receiver is known for: `new` is one that has not been tried, or not lately. */
export type Speed = "quick" | "new" | "slow";

/**
 * What recent attempts have shown of one subscription's receiver: how many requests it may have at once (slow start),
 * when it may have the next one (pace), and whether it answers quickly. Times are `performance.now()`, which no step of
 * the clock moves.
 */
export class TrackRecord {
  speed: Speed;
  /** How many attempts may be under way at once. */
  atOnce = 1;
  readonly #backoffBaseMs: number;
  /** How many attempts have begun; each is known by its number. */
  #begun = 0;
  /** Attempts up to this number had begun when a failure was counted: theirs is the same failure. */
  #countedUpTo = 0;
  #resumesAt = 0;
  #idleSince = 0;

  /** `backoffBaseMs` is `WEBHOOKS_BACKOFF_BASE` in milliseconds. */
  constructor(speed: Speed, backoffBaseMs: number) {
    this.speed = speed;
    this.#backoffBaseMs = backoffBaseMs;
  }

  /** Notes that an attempt begins and returns its number. */
  begin(now: number): number {
    if (this.#idleSince > 0 && now - this.#idleSince > idleMs) this.atOnce = 1;
    return ++this.#begun;
  }

  /**
   * Notes how the attempt has ended, before it is written down: what succeeded before a failure must not be taken for a
   * sign of life after it. After a success twice as many may run at once. Returns whether a failure counts: attempts that
   * were under way together when the first of them failed have learnt the same thing, so the others add nothing to the
   * streak.
   */
  hear(attempt: number, hasSucceeded: boolean): boolean {
    if (hasSucceeded) {
      this.atOnce = Math.min(this.atOnce * 2, atOnceMax);
      this.#resumesAt = 0;
      return false;
    }
    if (attempt <= this.#countedUpTo) return false;
    this.#countedUpTo = this.#begun;
    this.atOnce = 1;
    return true;
  }

  /** Notes how long the streak is after a failure that counted: from the second on, the next attempt waits. */
  failed(streak: number, now: number): void {
    this.#resumesAt = now + paceMs(streak, this.#backoffBaseMs);
  }

  /** Notes how long an attempt has taken, in milliseconds. However short a time it had, one that timed out was slow. */
  ended(
    { durationMs, hasTimedOut = false }: { durationMs: number; hasTimedOut?: boolean },
    now: number,
  ): void {
    this.speed = hasTimedOut || durationMs > slowAfterMs ? "slow" : "quick";
    this.#idleSince = now;
  }

  /** How long the next attempt has to wait, in milliseconds; 0 for not at all. */
  waitMs(now: number): number {
    return Math.max(0, this.#resumesAt - now);
  }

  /** Lets the next attempt begin at once: somebody has ended the streak by hand. */
  forgive(): void {
    this.#resumesAt = 0;
  }

  /** Whether it holds nothing any more that a new one would not. */
  isSpent(now: number): boolean {
    return now - this.#idleSince > idleMs && this.waitMs(now) === 0;
  }
}

/**
 * How long the next attempt waits after so many failures in a row, in milliseconds, whichever event it is for: not at all
 * after the first, then base / 20 × 5^(streak − 2), six times the base at most.
 */
export function paceMs(streak: number, backoffBaseMs: number): number {
  if (streak < 2) return 0;
  return Math.min((backoffBaseMs / paceDivisor) * paceFactor ** (streak - 2), backoffBaseMs * paceBasesMax);
}
