import type { Column } from "./table.ts";

/** As many of the last digits of an id as a list shows: those made in the same minute begin alike. */
const shownDigits = 8;

/** The end of the id, which commands take for the whole. */
export function shortId(id: string): string {
  return id.slice(-shownDigits);
}

/** The id, or on a terminal of fewer than `from` columns its end. */
export function idColumns<Row>(idOf: (row: Row) => string, from: number): Array<Column<Row>> {
  return [
    { title: "ID", of: idOf, dropsBelow: from },
    { title: "ID", of: (row) => shortId(idOf(row)), dropsFrom: from },
  ];
}
