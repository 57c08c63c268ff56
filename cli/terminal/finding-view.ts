import type { Finding } from "../../src/doctor/finding.ts";
import type { Color } from "./color.ts";
import { printable } from "./printable.ts";
import { wrapped } from "./table.ts";

const colors: Record<Finding["state"], Color> = {
  ok: "green",
  warning: "yellow",
  failed: "red",
  skipped: "dim",
};
const gap = "  ";
const stateWidth = "warning".length;
/** A terminal narrower than this is written over its edge. */
const textWidthMin = 20;

/** Formats findings as lines of at most `width` columns: the state, the check and what was found, then the remedy. */
export function findingLines(
  findings: readonly Finding[],
  width: number,
  paint: (color: Color, text: string) => string,
): string {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat(stateWidth + checkWidth + 2 * gap.length);
  const textWidth = Math.max(textWidthMin, width - indent.length);
  return findings
    .flatMap(({ check, state, found, remedy }) => {
      const [first = "", ...others] = wrapped(printable(found), textWidth);
      const start = `${paint(colors[state], state.padEnd(stateWidth))}${gap}${check.padEnd(checkWidth)}${gap}`;
      const more = [...others, ...(remedy === undefined ? [] : wrapped(printable(remedy), textWidth))];
      return [start + first, ...more.map((line) => indent + line)];
    })
    .join("\n");
}
