// The clock of the workspace is that of its database where several machines write to one, and this machine's otherwise:
// a retry that one node schedules and another makes comes neither early nor late, and tokens expire everywhere at once.

let leadMs = 0;

/** The time in milliseconds since 1970. May go back, as the clock that it is read from. */
export function workspaceTime(): number {
  return Date.now() + leadMs;
}

/**
 * Follows the clock of the database, which said `theirs`, in milliseconds since 1970, to a question asked at `askedAt`
 * and answered now, by `performance.now()`. What the way of the question may explain is no difference.
 */
export function followClock(theirs: number, askedAt: number): void {
  const tookMs = performance.now() - askedAt;
  const lead = theirs - (Date.now() - tookMs / 2);
  if (Math.abs(lead - leadMs) > tookMs / 2 + 1) leadMs = Math.round(lead);
}
