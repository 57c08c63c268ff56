import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { printableJson } from "../input/json.ts";
import { hasCode } from "../system/error-code.ts";
import { isReadyForWriting } from "../system/libc.ts";

/** How much is gathered at most, in UTF-16 units, before it is written without waiting for the end of the turn. */
const gatheredMax = 65_536;

/** How much is kept for a reader that is behind, in UTF-16 units or bytes: the lines of some 8,000 requests. */
const keptMax = 2 * 1_024 * 1_024;

/** What anything that is ready for writing takes at once, in bytes. */
const pieceLength = 4_096;

/** How long a reader that is behind is left alone, in milliseconds, before writing is tried again. */
const pauseMs = 10;

/** How long the end of the process waits for a reader that is behind, in milliseconds. */
const exitWaitMs = 1_000;

const lineEnd = 10;

/**
 * Lines of JSON for a file descriptor, written together once per turn of the event loop, in the order in which they came:
 * a write(2) for each line costs more than everything else about it. What a terminal would obey is escaped.
 *
 * Nobody waits for a reader. What it has not taken yet is kept, up to a bound; further lines are left out and counted, and
 * so are those that a full disk or a closed pipe refuses. Once there is room, a line in their place says how many they
 * were. What is kept is written at the latest when the process exits, also over a fault that nobody catches, if the
 * reader takes it within a second; only a process that is killed, or crashes below JavaScript, takes the lines of its
 * last turn with it.
 */
export class LineBuffer {
  readonly #descriptor: number;
  /** How much to write at once; Infinity where a write waits for nobody. */
  readonly #pieceLength: number;
  #gathered = "";
  /** What was gathered before and is not written yet, or the line that says how many lines were left out. */
  #rest: Uint8Array = new Uint8Array();
  /** How many lines the rest says were left out; 0 when it is made of other lines. */
  #beingSaid = 0;
  #leftOut = 0;
  /** Whether what was written last breaks off within a line. */
  #isLineOpen = false;
  #isLookAwaited = false;

  /** It stays for the life of the process. */
  constructor(descriptor: number) {
    this.#descriptor = isatty(descriptor) ? openedAnew(descriptor) : descriptor;
    this.#pieceLength = isFile(descriptor) ? Infinity : pieceLength;
    process.on("exit", () => this.#flush(exitWaitMs));
  }

  /** Takes a line, or several, with their line ends. Never throws and never waits. */
  write(lines: string): void {
    if (this.#leftOut > 0 || this.#gathered.length + this.#rest.length > keptMax) {
      this.#leftOut += countLines(lines);
    } else {
      this.#gathered += lines;
      if (this.#gathered.length >= gatheredMax && !this.#isBehind) this.#flush();
      if (this.#gathered === "" && !this.#isBehind) return;
    }
    this.#lookSoon();
  }

  get #isBehind(): boolean {
    return this.#rest.length > 0;
  }

  #lookSoon(): void {
    if (this.#isLookAwaited) return;
    this.#isLookAwaited = true;
    const look = () => {
      this.#isLookAwaited = false;
      this.#flush();
      if (this.#isBehind) this.#lookSoon();
    };
    if (this.#isBehind) setTimeout(look, pauseMs);
    else setImmediate(look);
  }

  /** Writes what there is, as far as it is taken at once or within `waitMs`. */
  #flush(waitMs = 0): void {
    const deadline = waitMs && performance.now() + waitMs;
    while (this.#isBehind || this.#next()) {
      const msLeft = deadline && Math.max(0, Math.ceil(deadline - performance.now()));
      if (this.#pieceLength < Infinity && !isReadyForWriting(this.#descriptor, msLeft)) return;
      if (!this.#writePiece()) return;
    }
  }

  /** Makes the next lines the rest. False when there are none. */
  #next(): boolean {
    if (this.#gathered !== "") {
      this.#rest = Buffer.from(printableJson(this.#gathered));
      this.#gathered = "";
      return true;
    }
    if (this.#leftOut === 0) return false;
    this.#rest = Buffer.from((this.#isLineOpen ? "\n" : "") + lineOfGap(this.#leftOut));
    this.#beingSaid = this.#leftOut;
    this.#leftOut = 0;
    return true;
  }

  /** Writes a piece of the rest. False when nothing more can be written now. */
  #writePiece(): boolean {
    const rest = this.#rest;
    try {
      const written = writeSync(this.#descriptor, rest, 0, Math.min(rest.length, this.#pieceLength));
      this.#isLineOpen = rest[written - 1] !== lineEnd;
      this.#rest = rest.subarray(written);
      if (!this.#isBehind) this.#beingSaid = 0;
      return true;
    } catch (error) {
      // A pipe whose reader is gone, a full disk: serving goes on, and it is tried again with later lines.
      if (!hasCode(error, "EAGAIN")) this.#giveUp();
      return false;
    }
  }

  #giveUp(): void {
    this.#leftOut += this.#beingSaid || countLines(Buffer.from(this.#rest).toString());
    this.#leftOut += countLines(this.#gathered);
    this.#beingSaid = 0;
    this.#rest = new Uint8Array();
    this.#gathered = "";
  }
}

/**
 * The terminal opened anew, so that a write to it takes what there is room for and does not wait: one that is ready may
 * have room for less than a page. Set on the descriptor itself, the shell would get that too.
 */
function openedAnew(descriptor: number): number {
  try {
    return openSync(`/dev/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return descriptor;
  }
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

function lineOfGap(lines: number): string {
  const line = { level: 40, time: new Date().toISOString(), lines, msg: "log.lines_left_out" };
  return `${JSON.stringify(line)}\n`;
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
