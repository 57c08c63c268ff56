import { randomNumber } from "../system/repeatable.ts";

/** The longest `Retry-After` that is honoured: an hour (decisions section 6). */
const longestRetryAfterMs = 3_600_000;

/** The longest backoff: with many attempts allowed, powers of six would exceed any valid date. */
const longestBackoffMs = 30 * 86_400_000;

/** A failed attempt, with what its response said about when to retry. */
export type FailedAttempt = {
  /** Counted from 1. */
  attempt: number;
  /** `WEBHOOKS_MAX_ATTEMPTS`. */
  maxAttempts: number;
  /** The receiver's status; null when there was no response. */
  status: number | null;
  /** The receiver's `Retry-After`, unparsed. */
  retryAfter: string | null;
  /** When the attempt ended, in milliseconds since 1970. */
  now: number;
  /** `WEBHOOKS_BACKOFF_BASE` in milliseconds: the wait after the first attempt. */
  baseMs: number;
  /** In [0, 1); `randomNumber` unless a test replaces it. */
  random?: () => number;
};

/**
 * Returns when to retry a failed attempt, in milliseconds since 1970; undefined after the last attempt. The wait is
 * base × 6^(attempt − 1) ± 10 %: the jitter keeps deliveries that failed together from being retried together. A longer
 * `Retry-After` on 429 or 503 takes precedence, up to an hour; a malformed one is ignored. Decisions section 6.
 */
export function nextAttemptAt(failed: FailedAttempt): number | undefined {
  const { attempt, maxAttempts, status, retryAfter, now, baseMs, random = randomNumber } = failed;
  if (attempt >= maxAttempts) return undefined;

  const waitMs = backoffMs(attempt, baseMs) * (0.9 + 0.2 * random());
  const asksForPatience = status === 429 || status === 503;
  const askedMs = asksForPatience && retryAfter !== null ? retryAfterMs(retryAfter, now) : 0;
  return Math.round(now + Math.max(waitMs, Math.min(askedMs, longestRetryAfterMs)));
}

/** How long to wait after that attempt failed, counted from 1, in milliseconds and before the jitter of ±10 %. */
export function backoffMs(attempt: number, baseMs: number): number {
  return Math.min(baseMs * 6 ** (attempt - 1), longestBackoffMs);
}

/** `Retry-After`, seconds or a date (RFC 9110 section 10.2.3), in milliseconds from now; 0 for anything else. */
function retryAfterMs(text: string, now: number): number {
  if (/^[0-9]+$/.test(text)) return Number(text) * 1000;
  // Date.parse accepts nearly anything, even "-1", so this requires the one date format that senders may generate.
  if (!/^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
