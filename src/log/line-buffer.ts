import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { printableJson } from "../input/json.ts";
import { hasCode } from "../system/error-code.ts";
import { isReadyForWriting } from "../system/libc.ts";

/** For how long lines wait for others, in milliseconds: under load a write for each turn of the event loop is too many. */
const gatherMs = 2;

/** The amount buffered before it is written without waiting for others, in UTF-16 units. */
const bufferedMax = 65_536;

/** The amount kept for a slow reader, in UTF-16 units or bytes: the lines of some 8,000 requests. */
const pendingMax = 2 * 1_024 * 1_024;

/** The amount that any descriptor accepts at once when it is ready for writing, in bytes. */
const pieceLength = 4_096;

/** The pause before the next write to a slow reader, in milliseconds. */
const retryMs = 10;

/** How long process exit waits for a slow reader, in milliseconds. */
const exitWaitMs = 1_000;

const lineEnd = 10;

/**
 * Writes the log's JSON lines, or what is made of them, to a file descriptor, batched every 2 ms, in order: a write(2) per
 * line would cost more than everything else about it. Characters that a terminal interprets are escaped.
 *
 * Writers never wait for the reader. Output that the reader has not accepted is kept up to a limit; beyond it, lines
 * are dropped and counted, as are lines that a full disk or a closed pipe rejects. Once there is room, one line
 * reports how many were dropped. Pending output is written at process exit, even after an uncaught exception, if the
 * reader accepts it within a second. Only a process that is killed, or crashes below JavaScript, loses the lines of
 * its last 2 ms.
 */
export class LineBuffer {
  readonly #descriptor: number;
  readonly #form: (lines: string) => string;
  /** The maximum size of one write; Infinity for a file, where a write never waits for a reader. */
  readonly #pieceLength: number;
  #buffered = "";
  /** Encoded output that is not written yet: buffered lines, or the line that reports how many were dropped. */
  #unwritten: Uint8Array = new Uint8Array();
  /** The number of dropped lines that the unwritten line reports; 0 when the unwritten output is ordinary lines. */
  #gapLines = 0;
  #dropped = 0;
  /** Whether the last write ended in the middle of a line. */
  #isLineOpen = false;
  #isFlushScheduled = false;

  /**
   * `form` makes of JSON lines what is written; it has to escape what a terminal interprets. Cannot be disposed of: it
   * lives as long as the process.
   */
  constructor(descriptor: number, form: (lines: string) => string = printableJson) {
    this.#form = form;
    this.#descriptor = isatty(descriptor) ? reopenNonBlocking(descriptor) : descriptor;
    this.#pieceLength = isFile(descriptor) ? Infinity : pieceLength;
    process.on("exit", () => this.#flush(exitWaitMs));
  }

  /** Takes one or more lines, each with its line end. Never throws and never waits. */
  write(lines: string): void {
    if (this.#dropped > 0 || this.#buffered.length + this.#unwritten.length > pendingMax) {
      this.#dropped += countLines(lines);
    } else {
      this.#buffered += lines;
      if (this.#buffered.length >= bufferedMax && !this.#isBehind) this.#flush();
      if (this.#buffered === "" && !this.#isBehind) return;
    }
    this.#scheduleFlush();
  }

  get #isBehind(): boolean {
    return this.#unwritten.length > 0;
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    const flush = () => {
      this.#isFlushScheduled = false;
      this.#flush();
      if (this.#isBehind) this.#scheduleFlush();
    };
    setTimeout(flush, this.#isBehind ? retryMs : gatherMs);
  }

  /** Writes pending output as far as the descriptor accepts it at once or within `waitMs` milliseconds. */
  #flush(waitMs = 0): void {
    const deadline = waitMs && performance.now() + waitMs;
    while (this.#isBehind || this.#takeNext()) {
      const msLeft = deadline && Math.max(0, Math.ceil(deadline - performance.now()));
      if (this.#pieceLength < Infinity && !isReadyForWriting(this.#descriptor, msLeft)) return;
      if (!this.#writePiece()) return;
    }
  }

  /** Moves the next lines to `#unwritten`. Returns false when there are none. */
  #takeNext(): boolean {
    if (this.#buffered !== "") {
      this.#unwritten = Buffer.from(this.#form(this.#buffered));
      this.#buffered = "";
      return true;
    }
    if (this.#dropped === 0) return false;
    this.#unwritten = Buffer.from((this.#isLineOpen ? "\n" : "") + this.#form(gapLine(this.#dropped)));
    this.#gapLines = this.#dropped;
    this.#dropped = 0;
    return true;
  }

  /** Writes part of `#unwritten`. Returns false when nothing more can be written now. */
  #writePiece(): boolean {
    const unwritten = this.#unwritten;
    try {
      const written = writeSync(
        this.#descriptor,
        unwritten,
        0,
        Math.min(unwritten.length, this.#pieceLength),
      );
      this.#isLineOpen = unwritten[written - 1] !== lineEnd;
      this.#unwritten = unwritten.subarray(written);
      if (!this.#isBehind) this.#gapLines = 0;
      return true;
    } catch (error) {
      // A closed pipe or a full disk: the server keeps running and retries with later lines.
      if (!hasCode(error, "EAGAIN")) this.#dropAll();
      return false;
    }
  }

  #dropAll(): void {
    this.#dropped += this.#gapLines || countLines(Buffer.from(this.#unwritten).toString());
    this.#dropped += countLines(this.#buffered);
    this.#gapLines = 0;
    this.#unwritten = new Uint8Array();
    this.#buffered = "";
  }
}

/**
 * Reopens the terminal in non-blocking mode, so that a write takes what there is room for: a terminal that is ready
 * may have room for less than a page. Setting the mode on the descriptor itself would affect the shell too.
 */
function reopenNonBlocking(descriptor: number): number {
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

function gapLine(lines: number): string {
  const line = { level: 40, time: new Date().toISOString(), lines, msg: "log.lines_left_out" };
  return `${JSON.stringify(line)}\n`;
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
