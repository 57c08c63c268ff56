/**
 * Runs background work in steps and rests after each for `restFactor` times as long as it took: requests and deliveries
 * come first.
 */
export class Throttle {
  readonly #restFactor: number;
  #isStopped = false;
  #endRest: () => void = () => {};

  constructor(restFactor: number) {
    this.#restFactor = restFactor;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Runs the step and rests. */
  async step<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await work();
    await this.rest((performance.now() - startedAt) * this.#restFactor);
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
