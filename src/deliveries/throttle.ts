/**
 * Runs background work in steps and rests after each for `restFactor` times as long as it took, but no longer than
 * `restMaxMs`: requests and deliveries come first. A step that had to wait, for a lock for one, took long without work.
 */
export class Throttle {
  readonly #restFactor: number;
  readonly #restMaxMs: number;
  #isStopped = false;
  #endRest: () => void = () => {};

  constructor(restFactor: number, restMaxMs: number) {
    this.#restFactor = restFactor;
    this.#restMaxMs = restMaxMs;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Runs the step and rests. */
  async step<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await work();
    await this.rest(Math.min((performance.now() - startedAt) * this.#restFactor, this.#restMaxMs));
    return result;
  }

  /** Waits for so many milliseconds, or until it is stopped. */
  async rest(ms: number): Promise<void> {
    if (this.#isStopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#endRest = () => {
      clearTimeout(timer);
      resolve();
    };
    await promise;
  }

  /** Ends the rest under way, and rests no more. */
  stop(): void {
    this.#isStopped = true;
    this.#endRest();
  }
}
