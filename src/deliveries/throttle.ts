/**
 * Runs background work in steps. After each it rests for `restFactor` times as long as the step took, because requests
 * and deliveries come first. The rest is limited to `restMaxMs`, because a step may take long without working, for
 * instance while it waits for a lock.
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

  /** Runs the step, rests, and returns the step's result. */
  async step<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await work();
    await this.#restSince(startedAt);
    return result;
  }

  /**
   * Yields pages of rows until `read` finds none: it returns the rows after the given one, which is `start` at first.
   * What the caller does with a page is part of the step. Ends early when stopped.
   */
  async *pages<Key, Row extends Key>(
    start: Key,
    read: (after: Key) => Row[] | Promise<Row[]>,
  ): AsyncGenerator<Row[], void> {
    let last: Key | undefined = start;
    while (last !== undefined && !this.#isStopped) {
      const startedAt = performance.now();
      const page = await read(last);
      if (page.length > 0) yield page;
      last = page.at(-1);
      await this.#restSince(startedAt);
    }
  }

  /** Waits for `ms` milliseconds, or until stopped. */
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

  /** Ends the current rest; there are no more from then on. */
  stop(): void {
    this.#isStopped = true;
    this.#endRest();
  }

  async #restSince(startedAt: number): Promise<void> {
    await this.rest(Math.min((performance.now() - startedAt) * this.#restFactor, this.#restMaxMs));
  }
}
