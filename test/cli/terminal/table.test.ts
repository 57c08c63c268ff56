import { expect, test } from "bun:test";
import { printable } from "../../../cli/terminal/printable.ts";
import { pairs, table, wrapped } from "../../../cli/terminal/table.ts";

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

test("a column that says when it may go is left out on a narrow terminal only", () => {
  const withId = [...columns, { title: "ID", of: () => "1", dropsBelow: 100 }];
  const titles = (width: number) =>
    table([{ name: "a", topic: "b" }], withId, { width, styleTitle: (title) => title }).split("\n")[0];
  expect(titles(99)).toBe("NAME  TOPIC");
  expect(titles(100)).toBe("NAME  TOPIC  ID");
  expect(titles(Number.POSITIVE_INFINITY)).toBe("NAME  TOPIC  ID");
});

test("values are wrapped between words, and inside a word that is wider than the terminal", () => {
  const lines = pairs([["url", `see ${"x".repeat(30)} and 日本語日本語`]], 20).split("\n");
  expect(lines).toEqual([
    "url  see",
    `     ${"x".repeat(15)}`,
    `     ${"x".repeat(15)}`,
    "     and",
    "     日本語日本語",
  ]);
  expect(wrapped("as it is", Number.POSITIVE_INFINITY)).toEqual(["as it is"]);
});
