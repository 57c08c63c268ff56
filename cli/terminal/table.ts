import type { Color } from "./color.ts";
import { printable } from "./printable.ts";

export type Column<Row> = {
  title: string;
  /** The raw text of the cell; the table makes it printable. */
  of: (row: Row) => string;
  /** Whether the column may be cut, with an ellipsis, to fit the terminal. */
  canShrink?: true;
  /** On a terminal narrower than this the column is left out, so that the others can be read. */
  dropsBelow?: number;
  /** On a terminal of at least this width the column is left out, since another one says more. */
  dropsFrom?: number;
  /** The colour of the cell on a terminal. */
  color?: (row: Row) => Color | undefined;
};

const gap = "  ";
const narrowest = 6;

/** Formats the rows as aligned lines under their titles, at most `width` columns wide if shrinking allows it. */
export function table<Row>(
  rows: readonly Row[],
  allColumns: ReadonlyArray<Column<Row>>,
  options: {
    width: number;
    styleTitle: (title: string) => string;
    paint?: (color: Color, text: string) => string;
  },
): string {
  const { width, styleTitle, paint = (_color, text) => text } = options;
  const columns = allColumns.filter(
    ({ dropsBelow = 0, dropsFrom = Number.POSITIVE_INFINITY }) =>
      width >= dropsBelow && (width < dropsFrom || dropsFrom === Number.POSITIVE_INFINITY),
  );
  const cells = rows.map((row) => columns.map((column) => printable(column.of(row))));
  const widths = fittingWidths(columns, cells, width);
  const lineOf = (line: readonly string[], row?: Row) =>
    line
      .map((cell, index) => {
        const text = padded(cell, widths[index] ?? 0);
        const color = row && columns[index]?.color?.(row);
        return color ? paint(color, text) : text;
      })
      .join(gap)
      .trimEnd();
  const titles = lineOf(columns.map(({ title }) => title));
  return [styleTitle(titles), ...cells.map((line, index) => lineOf(line, rows[index]))].join("\n");
}

/** Formats labels and values, with the values aligned, and wrapped where a line would be wider than `width` columns. */
export function pairs(
  lines: ReadonlyArray<readonly [label: string, value: string]>,
  width = Number.POSITIVE_INFINITY,
): string {
  const labels = Math.max(...lines.map(([label]) => Bun.stringWidth(label)));
  const besides = Math.max(narrowest, width - labels - gap.length);
  return lines
    .flatMap(([label, value]) =>
      wrapped(printable(value), besides).map((part, index) =>
        `${padded(index === 0 ? label : "", labels)}${gap}${part}`.trimEnd(),
      ),
    )
    .join("\n");
}

/** Breaks the text into lines of at most `width` columns: between words, or inside one that is wider. */
export function wrapped(text: string, width: number): string[] {
  if (Bun.stringWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (Bun.stringWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = "";
    for (const { segment } of graphemes.segment(word)) {
      if (line !== "" && Bun.stringWidth(line + segment) > width) {
        lines.push(line);
        line = "";
      }
      line += segment;
    }
  }
  return [...lines, line];
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
    // Take one character at a time from the widest column, so that narrow columns are cut last.
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
  const fitting = cut(text, width);
  return fitting + " ".repeat(Math.max(0, width - Bun.stringWidth(fitting)));
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The text, or as much of it as fits with an ellipsis, in whole graphemes, which may be two columns wide. */
export function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let fitting = "";
  for (const { segment } of graphemes.segment(text)) {
    if (Bun.stringWidth(fitting + segment) > width - 1) break;
    fitting += segment;
  }
  return `${fitting}…`;
}
