import { expect, test } from "bun:test";
import { printable } from "../../../cli/terminal/printable.ts";
import { pairs, table } from "../../../cli/terminal/table.ts";

type Row = { name: string; topic: string };

const columns = [
  { title: "NAME", of: ({ name }: Row) => name },
  { title: "TOPIC", of: ({ topic }: Row) => topic, canShrink: true as const },
];

function tableOf(rows: Row[], width = Number.POSITIVE_INFINITY): string[] {
  return table(rows, columns, { width, styleTitle: (title) => title }).split("\n");
}

test("columns are aligned by the display width of characters", () => {
  const rows = ["ascii", "日本語", "👩‍👩‍👧", "é"].map((name) => ({ name, topic: "x" }));
  for (const line of tableOf(rows).slice(1)) {
    expect(Bun.stringWidth(line.slice(0, line.lastIndexOf("x")))).toBe(8);
  }
});

test("a line has no trailing spaces", () => {
  expect(tableOf([{ name: "a", topic: "" }])[1]).toBe("a");
});

test.each(["a".repeat(100), "日本語".repeat(20), `${"a".repeat(27)}日本語`, "👩‍👩‍👧".repeat(30)])(
  "a cell that would be wider than the terminal is cut off between characters: %s",
  (topic) => {
    const [, line = ""] = tableOf([{ name: "deploys", topic }], 40);
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(40);
    expect(Bun.stringWidth(line)).toBeGreaterThan(37);
    expect(line).toEndWith("…");
    expect(topic).toStartWith(line.slice(9, -1));
  },
);

test("characters that could move the cursor, change colours or reverse text are escaped", () => {
  expect(printable("a\u001b[31mb\n\tc\u009b\u202Ed\u2028")).toBe(
    "a\\u{1b}[31mb\\n\\tc\\u{9b}\\u{202e}d\\u{2028}",
  );
  expect(tableOf([{ name: "a\u001b[2J", topic: "b\nc" }])).toEqual([
    "NAME        TOPIC",
    "a\\u{1b}[2J  b\\nc",
  ]);
});

test("characters of every language, and emoji of several parts, are shown as they are", () => {
  for (const text of ["日本語", "עברית", "👩‍👩‍👧", "e\u0301", "🏳️‍🌈"]) expect(printable(text)).toBe(text);
});

test("the values of pairs are aligned", () => {
  expect(
    pairs([
      ["name", "#general"],
      ["id", "1"],
    ]),
  ).toBe("name  #general\nid    1");
});
