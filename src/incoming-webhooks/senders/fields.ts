import { invalid } from "../../errors.ts";

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

/** The object in this field, without fields where there is anything else. */
export function objectIn(fields: Fields, name: string): Fields {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return isObject(value) ? value : {};
}

/** The objects of the list in this field; none where there is anything else. */
export function objectsIn(fields: Fields, name: string): Fields[] {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * The body as an object.
 * @throws DomainError `invalid` on `body` when it is anything else.
 */
export function objectOf(payload: unknown): Fields {
  if (!isObject(payload)) throw invalid({ body: ["The body must be a JSON object."] });
  return payload;
}

/** The texts in the fields of these names; see `textIn`. */
export function textsIn<Name extends string>(fields: Fields, ...names: Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, textIn(fields, name)])) as Record<Name, string>;
}
