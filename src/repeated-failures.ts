/** How long a failure is remembered after a line about it, in milliseconds. */
const windowMs = 10_000;

/** So many lines say the same in that time: with several failures at once, fewer than ten a second. */
const linesPerWindow = 3;

/** A failure as the log knows it: the line's message and the error's code. */
type Failure = { of: string; code: string };

type Count = { written: number; leftOut: number };

/**
 * Keeps one failure from filling the log: of the lines that say the same, the first three in ten seconds are written, the
 * others counted. `say` is told their number at the end of the ten seconds, and when the process exits.
 */
export class RepeatedFailures {
  readonly #say: (leftOut: Failure & { lines: number }) => void;
  readonly #counts = new Map<string, Failure & Count>();

  /** It stays for the life of the process. */
  constructor(say: (leftOut: Failure & { lines: number }) => void) {
    this.#say = say;
    // Before the log writes what it has gathered.
    process.prependListener("exit", () => {
      for (const count of this.#counts.values()) this.#sayCount(count);
    });
  }

  /** Whether the line is to be written; one that is not has been counted. */
  isToBeWritten(failure: Failure): boolean {
    const key = `${failure.of} ${failure.code}`;
    const count = this.#counts.get(key) ?? this.#begin(key, failure);
    if (count.written < linesPerWindow) {
      count.written += 1;
      return true;
    }
    count.leftOut += 1;
    return false;
  }

  #begin(key: string, failure: Failure): Count {
    const count = { ...failure, written: 0, leftOut: 0 };
    this.#counts.set(key, count);
    setTimeout(() => {
      this.#counts.delete(key);
      this.#sayCount(count);
    }, windowMs).unref();
    return count;
  }

  #sayCount({ of, code, leftOut }: Failure & Count): void {
    if (leftOut > 0) this.#say({ of, code, lines: leftOut });
  }
}
