import { printable } from "./printable.ts";

export type Column<Row> = {
  title: string;
  /** The text of the cell, as it is stored: the table makes it printable. */
  of: (row: Row) => string;
  /** Is cut off, with an ellipsis, where the lines would be wider than the terminal. */
  canShrink?: true;
};

const gap = "  ";
const narrowest = 6;

/** The rows as aligned lines under their titles, no wider than `width` columns where the columns allow it. */
export function table<Row>(
  rows: readonly Row[],
  columns: ReadonlyArray<Column<Row>>,
  options: { width: number; styleTitle: (title: string) => string },
): string {
  const cells = rows.map((row) => columns.map((column) => printable(column.of(row))));
  const widths = fittingWidths(columns, cells, options.width);
  const lineOf = (line: readonly string[]) =>
    line
      .map((cell, index) => padded(cell, widths[index] ?? 0))
      .join(gap)
      .trimEnd();
  const titles = lineOf(columns.map(({ title }) => title));
  return [options.styleTitle(titles), ...cells.map(lineOf)].join("\n");
}

/** Pairs of a label and a value, the values under one another. */
export function pairs(lines: ReadonlyArray<readonly [label: string, value: string]>): string {
  const width = Math.max(...lines.map(([label]) => Bun.stringWidth(label)));
  return lines.map(([label, value]) => `${padded(label, width)}${gap}${printable(value)}`).join("\n");
}

function fittingWidths<Row>(
  columns: ReadonlyArray<Column<Row>>,
  cells: readonly string[][],
  width: number,
): number[] {
  const widths = columns.map(({ title }, index) =>
    Math.max(Bun.stringWidth(title), ...cells.map((line) => Bun.stringWidth(line[index] ?? ""))),
  );
  let excess = widths.reduce((sum, column) => sum + column, gap.length * (columns.length - 1)) - width;
  while (excess > 0) {
    // One column at a time from the widest one, so that narrow ones are cut last.
    const [widest] = columns
      .map(({ canShrink }, index) => ({ canShrink, index, width: widths[index] ?? 0 }))
      .filter((column) => column.canShrink && column.width > narrowest)
      .sort((a, b) => b.width - a.width);
    if (!widest) break;
    widths[widest.index] = widest.width - 1;
    excess--;
  }
  return widths;
}

function padded(text: string, width: number): string {
  const fitting = Bun.stringWidth(text) > width ? cut(text, width) : text;
  return fitting + " ".repeat(Math.max(0, width - Bun.stringWidth(fitting)));
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** As much of the text as fits with an ellipsis. Whole characters, one of which may be two columns wide. */
function cut(text: string, width: number): string {
  let fitting = "";
  for (const { segment } of graphemes.segment(text)) {
    if (Bun.stringWidth(fitting + segment) > width - 1) break;
    fitting += segment;
  }
  return `${fitting}…`;
}
