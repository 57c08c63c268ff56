/** A receiver may ask for more patience than the schedule has, up to an hour. */
const longestRetryAfterMs = 3_600_000;

/** With many attempts allowed, powers of six pass any number that is still a time; nothing is put off for longer than this. */
const longestBackoffMs = 30 * 86_400_000;

/** A failed attempt, and what its answer said about when to come back. */
export type FailedAttempt = {
  /** Counted from 1. */
  attempt: number;
  /** `WEBHOOKS_MAX_ATTEMPTS`. */
  maxAttempts: number;
  /** The receiver's status, or null when there was no answer. */
  status: number | null;
  /** The receiver's `Retry-After` as it stood in the answer. */
  retryAfter: string | null;
  /** When the attempt ended, in milliseconds since 1970. */
  now: number;
  /** `WEBHOOKS_BACKOFF_BASE`: the wait after the first attempt. */
  baseMs: number;
  /** From 0 up to but not including 1. */
  random?: () => number;
};

/**
 * When a failed attempt is followed by the next, in milliseconds since 1970, or undefined when it was the last.
 * The wait is base × 6^(attempt − 1) give or take 10 %, so that receivers which failed together are not called back
 * together. A longer `Retry-After` on 429 or 503 counts instead, up to an hour; one that cannot be read counts as none.
 */
export function nextAttemptAt(failed: FailedAttempt): number | undefined {
  const { attempt, maxAttempts, status, retryAfter, now, baseMs, random = Math.random } = failed;
  if (attempt >= maxAttempts) return undefined;

  const backoffMs = Math.min(baseMs * 6 ** (attempt - 1), longestBackoffMs) * (0.9 + 0.2 * random());
  const asksForPatience = status === 429 || status === 503;
  const askedMs = asksForPatience && retryAfter !== null ? retryAfterMs(retryAfter, now) : 0;
  return Math.round(now + Math.max(backoffMs, Math.min(askedMs, longestRetryAfterMs)));
}

/** `Retry-After` in milliseconds from now: seconds or a date (RFC 9110 section 10.2.3), 0 for anything else. */
function retryAfterMs(text: string, now: number): number {
  if (/^[0-9]+$/.test(text)) return Number(text) * 1000;
  // Date.parse reads nearly everything, "-1" included, so the one form of a date that senders may use is required.
  if (!/^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
