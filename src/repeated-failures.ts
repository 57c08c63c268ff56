/** How long a failure is remembered after the line about it, in milliseconds. */
const windowMs = 10_000;

/** A failure as the log knows it: the line's message and the error's code. */
type Failure = { of: string; code: string };

/**
 * Keeps a failure from filling the log: of the lines that say the same, the first in ten seconds is written, the others
 * are counted. `say` is told their number at the end of the ten seconds, and when the process exits.
 */
export class RepeatedFailures {
  readonly #say: (leftOut: Failure & { lines: number }) => void;
  readonly #leftOut = new Map<string, Failure & { lines: number }>();

  /** It stays for the life of the process. */
  constructor(say: (leftOut: Failure & { lines: number }) => void) {
    this.#say = say;
    // Before the log writes what it has gathered.
    process.prependListener("exit", () => {
      for (const key of this.#leftOut.keys()) this.#forget(key);
    });
  }

  /** Whether the line is to be written; one that is not has been counted. */
  isToBeWritten(failure: Failure): boolean {
    const key = `${failure.of} ${failure.code}`;
    const leftOut = this.#leftOut.get(key);
    if (leftOut) {
      leftOut.lines += 1;
      return false;
    }
    this.#leftOut.set(key, { ...failure, lines: 0 });
    setTimeout(() => this.#forget(key), windowMs).unref();
    return true;
  }

  #forget(key: string): void {
    const leftOut = this.#leftOut.get(key);
    this.#leftOut.delete(key);
    if (leftOut && leftOut.lines > 0) this.#say(leftOut);
  }
}
