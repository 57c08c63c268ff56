import type { ReadStream, WriteStream } from "node:tty";
import { cut } from "./table.ts";

const enter = "\u001b[?1049h\u001b[?25l";
const leave = "\u001b[?25h\u001b[?1049l";
const home = "\u001b[H";
const clearLine = "\u001b[K";
const clearRest = "\u001b[J";

/** Control characters that a terminal in raw mode sends: Ctrl-C and Ctrl-D. */
const ends = ["q", "Q", "\u0003", "\u0004"];

/**
 * Draws what `lines` returns on the terminal's other screen, again every `everyMs` milliseconds and when the window
 * changes its size, until q, Ctrl-C or `stopped`. However it ends, the terminal is as before.
 * @throws what `lines` throws.
 */
export async function drawUntilLeft(
  { input, output }: { input: ReadStream; output: WriteStream },
  lines: () => Promise<readonly string[]>,
  { everyMs, stopped }: { everyMs: number; stopped: Promise<void> },
): Promise<void> {
  const left = Promise.withResolvers<void>();
  void stopped.then(left.resolve);
  let isLeft = false;
  void left.promise.then(() => (isLeft = true));
  let shown: readonly string[] = [];

  const draw = () => {
    const { rows, columns } = output;
    const fitting = shown.slice(0, rows).map((line) => cut(line, columns) + clearLine);
    output.write(home + fitting.join("\r\n") + clearRest);
  };
  const onKey = (key: Buffer) => {
    if (ends.includes(key.toString("latin1"))) left.resolve();
  };

  output.write(enter);
  input.setRawMode(true);
  input.on("data", onKey);
  input.resume();
  output.on("resize", draw);
  try {
    while (!isLeft) {
      shown = await lines();
      draw();
      let timer: Timer | undefined;
      const pause = new Promise<void>((resolve) => (timer = setTimeout(resolve, everyMs)));
      await Promise.race([pause, left.promise]);
      clearTimeout(timer);
    }
  } finally {
    output.off("resize", draw);
    input.off("data", onKey);
    input.setRawMode(false);
    input.pause();
    output.write(leave);
  }
}
