import { writeSync } from "node:fs";

/** How much is gathered at most, in UTF-16 units, before it is written without waiting for the end of the turn. */
const gatheredMax = 65_536;

/** How long a reader that is behind is given, in milliseconds, before writing is tried again. */
const pauseMs = 5;

/**
 * Lines of JSON for a file descriptor, written together once per turn of the event loop, in the order in which they came:
 * a write(2) for each line costs more than everything else about it. What a terminal would obey is escaped. What is gathered is written at the latest when the
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
    const bytes = Buffer.from(escapeForTerminals(this.#gathered));
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

// JSON leaves these as they are, but to some readers they end a line, and to terminals they are commands. Between the
// quotes of a text, where alone they can stand, JSON has another spelling for them.
function escapeForTerminals(lines: string): string {
  return lines.replace(/[[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]--\n]/gv, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
