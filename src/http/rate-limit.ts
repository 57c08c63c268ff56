import { DomainError } from "../errors.ts";

const windowMs = 60_000;

/** Where a key stands in its window of 60 seconds. */
export type Standing = {
  isAllowed: boolean;
  limit: number;
  /** How many requests are left in this window. */
  remaining: number;
  /** When the window ends, in whole seconds since 1970. */
  resetsAt: number;
  /** How long to wait until then, in whole seconds, at least 1. */
  retryAfterSeconds: number;
};

type Window = { endsAt: number; used: number };

/**
 * Counts requests by key in windows of 60 seconds that begin with a key's first request. Kept in memory; `now` runs
 * in milliseconds and never backwards, so a clock that is set back opens no window twice.
 */
export class RateLimit {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #windows = new Map<string, Window>();
  #nextSweepAt: number;

  constructor(limit: number, now: () => number = () => performance.timeOrigin + performance.now()) {
    this.#limit = limit;
    this.#now = now;
    this.#nextSweepAt = now() + windowMs;
  }

  /** Counts a request of the key. One over the limit is refused and does not lengthen the wait. */
  take(key: string): Standing {
    const now = this.#now();
    this.#sweep(now);
    let window = this.#windows.get(key);
    if (!window || window.endsAt <= now) {
      window = { endsAt: now + windowMs, used: 0 };
      this.#windows.set(key, window);
    }
    const isAllowed = window.used < this.#limit;
    if (isAllowed) window.used++;
    return {
      isAllowed,
      limit: this.#limit,
      remaining: this.#limit - window.used,
      resetsAt: Math.ceil(window.endsAt / 1000),
      retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
    };
  }

  /** How many keys are held: those of the last two windows at most. */
  get size(): number {
    return this.#windows.size;
  }

  #sweep(now: number): void {
    if (now < this.#nextSweepAt) return;
    this.#nextSweepAt = now + windowMs;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}

/**
 * Counts a request of the key and says in the answer's headers where it stands.
 * @throws DomainError `rate_limited` with `Retry-After`; `who` is the one that is limited, for the message.
 */
export function spend(
  rateLimit: RateLimit,
  key: string,
  who: string,
  headers: Record<string, string | number>,
): void {
  const { isAllowed, limit, remaining, resetsAt, retryAfterSeconds } = rateLimit.take(key);
  headers["x-ratelimit-limit"] = String(limit);
  headers["x-ratelimit-remaining"] = String(remaining);
  headers["x-ratelimit-reset"] = String(resetsAt);
  if (isAllowed) return;
  throw new DomainError(
    "rate_limited",
    `${who} may make ${limit} requests a minute. Try again in ${retryAfterSeconds} s.`,
    { headers: { "retry-after": String(retryAfterSeconds) } },
  );
}
