import { DomainError } from "../errors.ts";

const windowMs = 60_000;

/** Where a key stands in its window of 60 seconds. */
export type RateLimitStatus = {
  isAllowed: boolean;
  /** Whether this is the first in its window that is not allowed. */
  isFirstRefusal: boolean;
  limit: number;
  /** How many requests are left in this window. */
  remaining: number;
  /** When the window ends, in whole seconds since 1970. */
  resetsAt: number;
  /** How long to wait until then, in whole seconds, at least 1. */
  retryAfterSeconds: number;
};

type Window = { endsAt: number; used: number; hasRefused: boolean };

/** The key under which those are counted together for which there is no more room. */
const others = "";

/**
 * Counts requests by key in windows of 60 seconds that begin with a key's first request. Kept in memory; `now` runs
 * in milliseconds and never backwards, so a clock that is set back opens no window twice. Where strangers choose the keys,
 * `keysMax` bounds how many are held: those for which there is no more room share one window.
 */
export class RateLimit {
  readonly #limit: number;
  readonly #keysMax: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();
  #nextSweepAt: number;

  constructor(
    limit: number,
    { now = steadyNow, keysMax = Infinity }: { now?: (() => number) | undefined; keysMax?: number } = {},
  ) {
    this.#limit = limit;
    this.#keysMax = keysMax;
    this.#now = now;
    this.#nextSweepAt = now() + windowMs;
  }

  /** Counts a request of the key. One over the limit is refused and does not lengthen the wait. */
  take(key: string): RateLimitStatus {
    const now = this.#now();
    this.#sweep(now);
    const counted = this.#windows.size < this.#keysMax || this.#windows.has(key) ? key : others;
    let window = this.#windows.get(counted);
    if (!window || window.endsAt <= now) {
      window = { endsAt: now + windowMs, used: 0, hasRefused: false };
      this.#windows.set(counted, window);
    }
    const isAllowed = window.used < this.#limit;
    if (isAllowed) window.used++;
    const isFirstRefusal = !isAllowed && !window.hasRefused;
    window.hasRefused ||= isFirstRefusal;
    return {
      isAllowed,
      isFirstRefusal,
      limit: this.#limit,
      remaining: this.#limit - window.used,
      resetsAt: Math.ceil(window.endsAt / 1000),
      retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
    };
  }

  /** How many keys are held: those of the last two windows at most, and no more than `keysMax` and one. */
  get size(): number {
    return this.#windows.size;
  }

  #sweep(now: number): void {
    if (now < this.#nextSweepAt) return;
    this.#nextSweepAt = now + windowMs;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}

/** The machine's time, which a clock that is set does not move. */
function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Counts a request of the key and says in the answer's headers where it stands.
 * @throws DomainError `rate_limited` with `Retry-After`; `who` is the one that is limited, for the message.
 */
export function enforceRateLimit(
  rateLimit: RateLimit,
  key: string,
  who: string,
  headers: Record<string, string | number>,
): void {
  const standing = rateLimit.take(key);
  Object.assign(headers, headersOf(standing));
  if (!standing.isAllowed)
    throw rateLimitError(standing, `${who} may make ${standing.limit} requests a minute.`);
}

/** The refusal of a request over a limit, which says where it stands and when to try again. */
export function rateLimitError(standing: RateLimitStatus, why: string): DomainError {
  const { retryAfterSeconds } = standing;
  return new DomainError("rate_limited", `${why} Try again in ${retryAfterSeconds} s.`, {
    headers: { ...headersOf(standing), "retry-after": String(retryAfterSeconds) },
  });
}

function headersOf({ limit, remaining, resetsAt }: RateLimitStatus): Record<string, string> {
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(resetsAt),
  };
}
