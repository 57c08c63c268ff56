/** How long repeats are counted after the first line about a failure, in milliseconds. */
const windowMs = 10_000;

/** The number of lines written per failure in that time, for a reader who searches by request. */
const linesPerFailure = 3;

/** A repeated line is written only if fewer failures than this were written in the same second. */
const linesPerSecond = 5;

/** A failure, identified by the line's message and the error's code. */
type Failure = { of: string; code: string };

type Count = Failure & { written: number; dropped: number };

/**
 * Keeps repeated failures from filling the log. The first line of each kind is written, and up to two more within ten
 * seconds as long as that makes no more than five lines in a second altogether; the others are counted. `report`
 * receives their number when the ten seconds are over, and at process exit.
 */
export class RepeatedFailures {
  readonly #report: (dropped: Failure & { lines: number }) => void;
  readonly #counts = new Map<string, Count>();
  #second = 0;
  #writtenInSecond = 0;

  /** Cannot be disposed of: it lives as long as the process. */
  constructor(report: (dropped: Failure & { lines: number }) => void) {
    this.#report = report;
    // Runs before the log flushes its buffer.
    process.prependListener("exit", () => {
      for (const key of this.#counts.keys()) this.#finish(key);
    });
  }

  /** Whether to write the line. A line that is not written has been counted. */
  shouldWrite(failure: Failure): boolean {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#writtenInSecond = 0;
    this.#second = second;

    const key = `${failure.of} ${failure.code}`;
    const count = this.#counts.get(key) ?? this.#begin(key, failure);
    const isFirst = count.written === 0;
    if (!isFirst && (count.written === linesPerFailure || this.#writtenInSecond >= linesPerSecond)) {
      count.dropped += 1;
      return false;
    }
    count.written += 1;
    this.#writtenInSecond += 1;
    return true;
  }

  #begin(key: string, failure: Failure): Count {
    const count = { ...failure, written: 0, dropped: 0 };
    this.#counts.set(key, count);
    setTimeout(() => this.#finish(key), windowMs).unref();
    return count;
  }

  #finish(key: string): void {
    const count = this.#counts.get(key);
    this.#counts.delete(key);
    if (count && count.dropped > 0) this.#report({ of: count.of, code: count.code, lines: count.dropped });
  }
}
