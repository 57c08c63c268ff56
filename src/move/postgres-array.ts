import type { Row } from "./tables.ts";

/** The values as the text of an array in PostgreSQL, which no driver has to know how to send. */
export function arrayText(values: Row): string {
  return `{${values.map(elementText).join(",")}}`;
}

function elementText(value: Row[number]): string {
  if (value === null) return "NULL";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  return `"\\\\x${Buffer.from(value).toString("hex")}"`;
}
