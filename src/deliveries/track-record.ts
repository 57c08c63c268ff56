/** The most attempts one subscription may have in flight, however well its receiver does. */
export const atOnceMax = 20;

/** After this long without work, in milliseconds, slow start begins again with one request. */
const idleMs = 60_000;

/** An attempt that takes longer than this, in milliseconds, marks the receiver as slow. */
const slowAfterMs = 1_000;

/** The wait after the second failure in a row is `WEBHOOKS_BACKOFF_BASE` divided by this. */
const paceDivisor = 20;
/** Each further failure multiplies the wait by this. */
const paceFactor = 5;
/** The longest wait, in multiples of `WEBHOOKS_BACKOFF_BASE`. */
const paceBasesMax = 6;

/** How fast a receiver responds; `new` means that it has not been tried lately. */
export type Speed = "quick" | "new" | "slow";

/**
 * What recent attempts say about one subscription's receiver: how many requests it may get at once (slow start), when
 * it may get the next one (pace), and whether it responds quickly (decisions section 6). Times are `performance.now()`,
 * which setting the system clock does not change.
 */
export class TrackRecord {
  speed: Speed;
  /** How many attempts may be in flight at once. */
  atOnce = 1;
  readonly #backoffBaseMs: number;
  /** How many attempts have begun; also the number of the latest one. */
  #begun = 0;
  /** Attempts up to this number had begun when a failure was counted, so theirs is the same failure. */
  #countedUpTo = 0;
  #resumesAt = 0;
  #idleSince = 0;

  /** `backoffBaseMs` is `WEBHOOKS_BACKOFF_BASE` in milliseconds. */
  constructor(speed: Speed, backoffBaseMs: number) {
    this.speed = speed;
    this.#backoffBaseMs = backoffBaseMs;
  }

  /** Records that an attempt begins. Returns its number, for `report`. */
  begin(now: number): number {
    if (this.#idleSince > 0 && now - this.#idleSince > idleMs) this.atOnce = 1;
    return ++this.#begun;
  }

  /**
   * Records the outcome of the attempt as soon as it is known, not once it is committed: a success from before a
   * failure must not pass for a sign of life after it. A success doubles how many may run at once. Returns whether the
   * failure counts towards the streak: of the attempts that were in flight together, only the first failure does.
   */
  report(attempt: number, hasSucceeded: boolean): boolean {
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

  /** Delays the next attempt after a failure that counted; `streak` includes it. The first failure delays nothing. */
  failed(streak: number, now: number): void {
    this.#resumesAt = now + paceMs(streak, this.#backoffBaseMs);
  }

  /** Records how long an attempt took, in milliseconds. A timeout counts as slow, however short the timeout is. */
  ended(
    { durationMs, hasTimedOut = false }: { durationMs: number; hasTimedOut?: boolean },
    now: number,
  ): void {
    this.speed = hasTimedOut || durationMs > slowAfterMs ? "slow" : "quick";
    this.#idleSince = now;
  }

  /** Returns how long the next attempt must wait, in milliseconds. */
  waitMs(now: number): number {
    return Math.max(0, this.#resumesAt - now);
  }

  /** Lets the next attempt begin at once, because somebody has ended the streak by hand. */
  resetPace(): void {
    this.#resumesAt = 0;
  }

  /** Whether a new record would say the same. */
  isStale(now: number): boolean {
    return now - this.#idleSince > idleMs && this.waitMs(now) === 0;
  }
}

/**
 * Returns how long the next attempt waits after `streak` failures in a row, in milliseconds, whichever event it is for:
 * 0 after the first, then base / 20 × 5^(streak − 2), at most six times the base (decisions section 6).
 */
export function paceMs(streak: number, backoffBaseMs: number): number {
  if (streak < 2) return 0;
  return Math.min((backoffBaseMs / paceDivisor) * paceFactor ** (streak - 2), backoffBaseMs * paceBasesMax);
}
