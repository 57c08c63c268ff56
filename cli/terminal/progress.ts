import { printable } from "./printable.ts";
import { cut } from "./table.ts";

/** How often the line is drawn again at most, in milliseconds. */
const drawEveryMs = 100;

/** The parts of a terminal's stream that drawing needs. */
type Terminal = Pick<NodeJS.WriteStream, "write" | "columns">;

/**
 * One line on the terminal that tells how far long work is, drawn in place and cleared at the end:
 * `using progress = output.progress()`. Without a terminal it does nothing.
 */
export class Progress implements Disposable {
  readonly #terminal: Terminal | undefined;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  constructor(terminal: Terminal | undefined) {
    this.#terminal = terminal;
  }

  /** Shows the text in place of the one before. Calls that come too fast to be read are skipped. */
  show(text: string): void {
    if (!this.#terminal) return;
    const now = performance.now();
    if (now - this.#drawnAt < drawEveryMs) return;
    this.#drawnAt = now;
    this.#isDrawn = true;
    // One column stays free: some terminals wrap when the last one is written.
    this.#terminal.write(`\r\u001b[2K${cut(printable(text), (this.#terminal.columns || 80) - 1)}`);
  }

  /** Shows how much of the work is done: `Copying: 1.2 GB of 4.0 GB (30%)`. `format` writes both amounts. */
  showPart(doing: string, done: number, total: number, format: (amount: number) => string): void {
    const percent = total > 0 ? Math.floor((Math.min(done, total) / total) * 100) : 100;
    this.show(`${doing}: ${format(done)} of ${format(total)} (${percent}%)`);
  }

  /** Clears the line, so that what is printed next starts on an empty one. The next `show` draws at once. */
  clear(): void {
    if (this.#isDrawn) this.#terminal?.write("\r\u001b[2K");
    this.#isDrawn = false;
    this.#drawnAt = Number.NEGATIVE_INFINITY;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
