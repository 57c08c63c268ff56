/** How often to check for a pause while anything is in flight, in milliseconds. */
const checkEveryMs = 500;

/** A check that comes this much later than scheduled follows a pause, in milliseconds. */
const pauseMs = 1_000;

/**
 * Detects that the process was paused: a suspended machine, a SIGSTOP, no processor time. Responses that arrived
 * during a pause were not read in time, which is not the receiver's fault. Checks only while an attempt is in flight.
 */
export class Pauses {
  #inFlight = 0;
  #timer: Timer | undefined;
  #checkedAt = 0;
  /** The system clock also shows a pause during which the monotonic clock was suspended. */
  #checkedAtByClock = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /** Watches for pauses until `end`. Returns the `performance.now()` to pass to `since`. */
  begin(): number {
    this.#inFlight++;
    const now = performance.now();
    if (this.#timer === undefined) {
      this.#checkedAt = now;
      this.#checkedAtByClock = Date.now();
      this.#timer = setInterval(() => this.#check(), checkEveryMs);
      this.#timer.unref();
    }
    return now;
  }

  /** Ends one `begin`; the timer stops when all have ended. */
  end(): void {
    this.#inFlight--;
  }

  /** Whether the process was paused for a second or more since `beganAt`. */
  since(beganAt: number): boolean {
    this.#check();
    return this.#endedAt > beganAt;
  }

  #check(): void {
    const [now, clock] = [performance.now(), Date.now()];
    const passedMs = Math.max(now - this.#checkedAt, clock - this.#checkedAtByClock);
    if (passedMs > checkEveryMs + pauseMs) this.#endedAt = now;
    this.#checkedAt = now;
    this.#checkedAtByClock = clock;
    if (this.#inFlight > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
