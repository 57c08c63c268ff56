import { styleText } from "node:util";
import { printableJson } from "../input/json.ts";

type Style = Parameters<typeof styleText>[0];

/** The name and style of each of pino's levels. */
const levels: Record<number, { name: string; style: Style }> = {
  10: { name: "TRACE", style: "gray" },
  20: { name: "DEBUG", style: "blue" },
  30: { name: "INFO", style: "green" },
  40: { name: "WARN", style: "yellow" },
  50: { name: "ERROR", style: "red" },
  60: { name: "FATAL", style: ["bold", "red"] },
};

/** The width of the longest names of levels, and of nearly all events. */
const levelWidth = 5;
const eventWidth = 18;

/** A text that needs no quotes. */
const plain = /^[\w./:@+*-]+$/;

/**
 * Turns JSON lines of the log into lines for people: local time, level, event, then the fields as `key=value`; the
 * stack of an error follows on lines of its own. Nothing in a value can move the cursor, change colours or end a line.
 */
export function linesForPeople(jsonLines: string, hasColor: boolean): string {
  const styled = (style: Style, text: string) =>
    hasColor ? styleText(style, text, { validateStream: false }) : text;

  const lineOf = (json: string): string => {
    const { level, time, msg, err, ...fields } = JSON.parse(json) as Record<string, unknown>;
    const { name, style } = levels[Number(level)] ?? { name: `${level as number}`, style: "reset" as const };
    const { stack, ...error } = (err ?? {}) as { stack?: string };
    const shown = { ...fields, ...error };
    const line = [
      styled("dim", clock(String(time))),
      styled(style, name.padEnd(levelWidth)),
      styled("bold", shownValue(msg).padEnd(eventWidth)),
      ...Object.entries(shown).map(
        ([key, value]) => `${styled("dim", `${shownValue(key)}=`)}${shownValue(value)}`,
      ),
    ];
    const stackLines = stack === undefined ? "" : `\n${indented(stack)}`;
    return `${line.join(" ").trimEnd()}${stackLines}`;
  };
  // Not by a pattern's line ends: those include separators that JSON leaves as they are.
  const lines = jsonLines.split("\n");
  return lines.map((line) => (line === "" ? "" : lineOf(line))).join("\n");
}

/** The time of day on this machine, to the millisecond. */
function clock(time: string): string {
  const date = new Date(time);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return `${text}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function shownValue(value: unknown): string {
  if (typeof value === "string" && plain.test(value)) return value;
  return printableJson(JSON.stringify(value));
}

function indented(stack: string): string {
  return printableJson(stack.replace(/^\s*/gm, "    "));
}
