/** How often the process is looked at while something is under way, in milliseconds. */
const beatMs = 500;

/** So much later than it should, in milliseconds, a look comes after a pause. */
const pauseMs = 1_000;

/**
 * Notices when the process stood still: a machine that was suspended, a SIGSTOP, no processor time. Answers that came
 * meanwhile were not read in time, which is nobody's fault but ours. Looks only while it is asked to.
 */
export class Pauses {
  #underWay = 0;
  #timer: Timer | undefined;
  #lookedAt = 0;
  /** The clock shows a pause in which the timers stood still too. */
  #lookedAtByClock = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /** Looks out for pauses until `end`. Returns the time, to ask about it. */
  begin(): number {
    this.#underWay++;
    const now = performance.now();
    if (this.#timer === undefined) {
      this.#lookedAt = now;
      this.#lookedAtByClock = Date.now();
      this.#timer = setInterval(() => this.#look(), beatMs);
      this.#timer.unref();
    }
    return now;
  }

  end(): void {
    this.#underWay--;
  }

  /** Whether the process stood still for a second or more since then. */
  since(beganAt: number): boolean {
    this.#look();
    return this.#endedAt > beganAt;
  }

  #look(): void {
    const [now, clock] = [performance.now(), Date.now()];
    const passedMs = Math.max(now - this.#lookedAt, clock - this.#lookedAtByClock);
    if (passedMs > beatMs + pauseMs) this.#endedAt = now;
    this.#lookedAt = now;
    this.#lookedAtByClock = clock;
    if (this.#underWay > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
