import { expect, test } from "bun:test";
import { stripVTControlCharacters } from "node:util";
import { Progress } from "../../../cli/terminal/progress.ts";
import { byteSize } from "../../../cli/terminal/quantity.ts";

/** A terminal of 40 columns that keeps what was written to it. */
function terminal() {
  const written: string[] = [];
  return { columns: 40, written, write: (text: string) => written.push(text) > 0 };
}

test("progress is one line, no wider than the terminal, and gone at the end", () => {
  const screen = terminal();
  {
    using progress = new Progress(screen);
    progress.showPart("Copying", 1.2e9, 4e9, byteSize);
    progress.clear();
    progress.show("日本語\u001b[2J".repeat(20));
  }
  const [first = "", , second = "", last = ""] = screen.written;
  expect(stripVTControlCharacters(first).trim()).toBe("Copying: 1.2 GB of 4.0 GB (30%)");
  expect(Bun.stringWidth(second)).toBeLessThan(screen.columns);
  expect(second).not.toContain("\u001b[2J");
  expect(last).toBe("\r\u001b[2K");
  expect(screen.written.join("")).not.toContain("\n");
});

test("updates that nobody could read are not drawn", () => {
  const screen = terminal();
  using progress = new Progress(screen);
  for (let done = 0; done < 1_000; done++) progress.showPart("Sealing", done, 1_000, String);
  expect(screen.written.length).toBeLessThan(1_000);
});

test("without a terminal nothing is shown, and work of no size is done", () => {
  using silent = new Progress(undefined);
  silent.show("never");
  const screen = terminal();
  using progress = new Progress(screen);
  progress.showPart("Sealing", 0, 0, String);
  expect(stripVTControlCharacters(screen.written.join("")).trim()).toBe("Sealing: 0 of 0 (100%)");
});
