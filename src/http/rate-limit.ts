import { type Answer, whenAnswered } from "../database/answer.ts";
import { DomainError } from "../errors.ts";

/** How long a window lasts, in milliseconds. */
export const windowMs = 60_000;

/** The state of a key in its window of 60 seconds. */
export type RateLimitStatus = {
  isAllowed: boolean;
  limit: number;
  /** The number of requests left in the window. */
  remaining: number;
  /** When the window ends, in seconds since 1970, rounded up. */
  resetsAt: number;
  /** The time until then in seconds, rounded up, at least 1. */
  retryAfterSeconds: number;
};

/** Counts requests by key: those to this server, or those to all nodes. */
export type RateCounter = { take(key: string): Answer<RateLimitStatus> };

type Window = { endsAt: number; used: number; hasRefused: boolean };

/** The key that the keys beyond `keysMax` share. */
const others = "";

/**
 * Counts requests by key, in memory, in windows of 60 seconds that begin with a key's first request. `now` returns
 * milliseconds and never goes back, so a clock that is set back does not open a window again. When clients choose the
 * keys, `keysMax` limits the memory: the keys beyond it share one window.
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

  /**
   * Counts a request of the key. A request over the limit does not extend the window. `isFirstRefusal` says whether this
   * one is the first of its window to exceed it.
   */
  take(key: string): RateLimitStatus & { isFirstRefusal: boolean } {
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

  /** The number of keys in memory: those of the last two windows, and at most `keysMax` and the shared one. */
  get size(): number {
    return this.#windows.size;
  }

  #sweep(now: number): void {
    if (now < this.#nextSweepAt) return;
    this.#nextSweepAt = now + windowMs;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}

/** Monotonic time in milliseconds, which setting the clock does not change. */
function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Sets the `X-RateLimit-…` headers of the response to a counted request. The error's message begins with `holder`, such as
 * "This token".
 * @throws DomainError `rate_limited` with `Retry-After`, over the limit.
 */
export function enforceRateLimit(
  counted: Answer<RateLimitStatus>,
  holder: string,
  headers: Record<string, string | number>,
): Answer<void> {
  return whenAnswered(counted, (status) => {
    Object.assign(headers, headersOf(status));
    if (!status.isAllowed)
      throw rateLimitError(status, `${holder} may make ${status.limit} requests a minute.`);
  });
}

/** Returns the error for a request over a limit, with the `X-RateLimit-…` headers and `Retry-After`. */
export function rateLimitError(status: RateLimitStatus, why: string): DomainError {
  const { retryAfterSeconds } = status;
  return new DomainError("rate_limited", `${why} Try again in ${retryAfterSeconds} s.`, {
    headers: { ...headersOf(status), "retry-after": String(retryAfterSeconds) },
  });
}

function headersOf({ limit, remaining, resetsAt }: RateLimitStatus): Record<string, string> {
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(resetsAt),
  };
}
