/** A wait that can be ended early, also before it begins. */
export class Pause {
  #isEnded = false;
  #resolve: () => void = () => {};

  /** Ends the wait under way or, when there is none, the next one. */
  end(): void {
    this.#isEnded = true;
    this.#resolve();
  }

  /** Waits until `end`, at most `ms` milliseconds. */
  async wait(ms: number): Promise<void> {
    if (!this.#isEnded) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      this.#resolve = resolve;
      await promise;
      clearTimeout(timer);
    }
    this.#isEnded = false;
  }
}
