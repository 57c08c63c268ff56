/** How long a failure is remembered after the first line about it, in milliseconds. */
const windowMs = 10_000;

/** So many lines that say the same are written in that time, for whoever looks for one by its request. */
const linesPerFailure = 3;

/** Lines that repeat others are written only while a second has seen fewer than so many failures. */
const linesPerSecond = 5;

/** A failure as the log knows it: the line's message and the error's code. */
type Failure = { of: string; code: string };

type Count = Failure & { written: number; leftOut: number };

/**
 * Keeps failures from filling the log: the first line of each kind is written, and up to two more in ten seconds if that
 * makes no more than five in a second altogether; the others are counted. `say` is told their number at the end of the ten
 * seconds, and when the process exits.
 */
export class RepeatedFailures {
  readonly #say: (leftOut: Failure & { lines: number }) => void;
  readonly #counts = new Map<string, Count>();
  #second = 0;
  #writtenInSecond = 0;

  /** It stays for the life of the process. */
  constructor(say: (leftOut: Failure & { lines: number }) => void) {
    this.#say = say;
    // Before the log writes what it has gathered.
    process.prependListener("exit", () => {
      for (const key of this.#counts.keys()) this.#end(key);
    });
  }

  /** Whether the line is to be written; one that is not has been counted. */
  isToBeWritten(failure: Failure): boolean {
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#writtenInSecond = 0;
    this.#second = second;

    const key = `${failure.of} ${failure.code}`;
    const count = this.#counts.get(key) ?? this.#begin(key, failure);
    const isFirst = count.written === 0;
    if (!isFirst && (count.written === linesPerFailure || this.#writtenInSecond >= linesPerSecond)) {
      count.leftOut += 1;
      return false;
    }
    count.written += 1;
    this.#writtenInSecond += 1;
    return true;
  }

  #begin(key: string, failure: Failure): Count {
    const count = { ...failure, written: 0, leftOut: 0 };
    this.#counts.set(key, count);
    setTimeout(() => this.#end(key), windowMs).unref();
    return count;
  }

  #end(key: string): void {
    const count = this.#counts.get(key);
    this.#counts.delete(key);
    if (count && count.leftOut > 0) this.#say({ of: count.of, code: count.code, lines: count.leftOut });
  }
}
