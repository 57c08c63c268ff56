/** Fields of a sender's JSON, of which nothing is known. */
export type Fields = Record<string, unknown>;

/** Whether the value is a JSON object. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text in this field, a number or a truth value as text; empty where there is anything else. */
export function textIn(fields: Fields, name: string): string {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
