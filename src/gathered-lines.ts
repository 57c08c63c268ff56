import { writeSync } from "node:fs";

/** How much is gathered at most, in UTF-16 units, before it is written without waiting for the end of the turn. */
const gatheredMax = 65_536;

/** How long a reader that is behind is given, in milliseconds, before writing is tried again. */
const pauseMs = 5;

/**
 * Lines for a file descriptor, written together once per turn of the event loop, in the order in which they came: a
 * write(2) for each line costs more than everything else about it. What is gathered is written at the latest when the
 * process exits, also over a fault that nobody catches; only a process that is killed, or crashes below JavaScript,
 * takes the lines of its last turn with it.
 */
export class GatheredLines {
  readonly #descriptor: number;
  #gathered = "";
  #isTurnAwaited = false;

  /** It stays for the life of the process. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    process.on("exit", () => this.#flush());
  }

  /** Takes a line, or several, with their line ends. Never throws: what nobody can be written to is lost. */
  write(lines: string): void {
    this.#gathered += lines;
    if (this.#gathered.length >= gatheredMax) this.#flush();
    if (this.#gathered === "" || this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    setImmediate(() => {
      this.#isTurnAwaited = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#gathered === "") return;
    const bytes = Buffer.from(this.#gathered);
    this.#gathered = "";
    for (let written = 0; written < bytes.length;) {
      try {
        written += writeSync(this.#descriptor, bytes, written);
      } catch (error) {
        // A pipe whose reader is gone, a full disk: serving goes on, and later lines are tried again.
        if (!isFull(error)) return;
        // A pipe that does not make its writers wait. The lines are waited for all the same: there is no room for more.
        Bun.sleepSync(pauseMs);
      }
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
