// The clock of the workspace is that of its database where several machines write to one, and this machine's otherwise:
// a retry that one node schedules and another makes comes neither early nor late, and tokens expire everywhere at once.

let leadMs = 0;

/** Both clocks are read in whole milliseconds, one rounded and one cut off. */
const roundingMs = 2;

/** The time in milliseconds since 1970. May go back, as the clock that it is read from. */
export function workspaceTime(): number {
  return Date.now() + leadMs;
}

/**
 * Follows the clock of the database, which said `theirs`, in milliseconds since 1970, to a question asked at `askedAt`
 * and answered now, by `performance.now()`. What the way of the question or rounding may explain is no difference.
 */
export function followClock(theirs: number, askedAt: number): void {
  const ours = Date.now();
  // Read last, so that a pause of this process in between counts as the question's way.
  const tookMs = performance.now() - askedAt;
  const lead = theirs - (ours - tookMs / 2);
  if (Math.abs(lead - leadMs) > tookMs / 2 + roundingMs) leadMs = Math.round(lead);
}
