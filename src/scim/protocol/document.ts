import { isStorable, isWithin } from "../../input/text.ts";
import { type Attribute, findPart } from "./attributes.ts";
import { scimError } from "./errors.ts";

/** One value of a list, its parts by their names. */
export type Item = { [part: string]: string | boolean };

const textLengthMax = 255;
const itemsMax = 50;

/**
 * What a directory has said of a resource: the values of its attributes under the names of the definitions, those of
 * parts as `name.givenName`. An empty text is no value.
 */
export class Document {
  readonly #values = new Map<string, string | boolean>();
  readonly #lists = new Map<string, Item[]>();

  text(path: string): string | undefined {
    const value = this.#values.get(path);
    return typeof value === "string" ? value : undefined;
  }

  truth(path: string): boolean | undefined {
    const value = this.#values.get(path);
    return typeof value === "boolean" ? value : undefined;
  }

  /** The values of the list; undefined when nothing was said of it. */
  list(name: string): readonly Item[] | undefined {
    return this.#lists.get(name);
  }

  /** Sets a value that comes from our own data; null for none. */
  put(path: string, value: string | boolean | null): void {
    if (value === null) this.#values.delete(path);
    else this.#values.set(path, value);
  }

  /**
   * Sets a list. Of several primary values the last one stays so, as RFC 7644 section 3.5.2 has it.
   * @throws ScimError `invalidValue` for too many values.
   */
  putList(name: string, items: readonly Item[]): void {
    if (items.length > itemsMax) throw invalidValue(name, `a list of at most ${itemsMax} values`);
    const primary = items.findLast((item) => item.primary === true);
    this.#lists.set(
      name,
      items.map((item) => (item.primary === true && item !== primary ? { ...item, primary: false } : item)),
    );
  }

  /**
   * Sets what came from outside for an attribute that is no list, each part of a complex one that is given.
   * @throws ScimError `invalidValue`.
   */
  assign(path: string, attribute: Attribute, value: unknown): void {
    if (value === null || value === undefined || value === "") return this.clear(path, attribute);
    if (attribute.type !== "complex") return this.put(path, coerced(path, attribute, value));
    for (const [part, given] of partsOf(attribute, value, path))
      this.assign(`${path}.${part.name}`, part, given);
  }

  clear(path: string, attribute: Attribute): void {
    this.#values.delete(path);
    for (const part of attribute.subAttributes ?? []) this.#values.delete(`${path}.${part.name}`);
  }
}

/**
 * The values of a list as they came from outside: one or several, each an object or, for those that are mostly their
 * `value`, a bare text. What has no `value` is left out.
 * @throws ScimError `invalidValue`.
 */
export function itemsOf(list: Attribute, value: unknown): Item[] {
  if (value === null || value === undefined) return [];
  return [value].flat().flatMap((given: unknown) => {
    const item = itemOf(list, typeof given === "string" ? { value: given } : given);
    return item.value === undefined ? [] : [item];
  });
}

/**
 * The parts of one value of a list that were given.
 * @throws ScimError `invalidValue`.
 */
export function itemOf(list: Attribute, value: unknown): Item {
  const item: Item = {};
  for (const [part, given] of partsOf(list, value, list.name)) {
    if (given !== null && given !== "" && !part.isReadOnly) {
      item[part.name] = coerced(`${list.name}.${part.name}`, part, given);
    }
  }
  return item;
}

/**
 * The value as one of the attribute's type; `"True"` is true.
 * @throws ScimError `invalidValue`.
 */
export function coerced(path: string, attribute: Attribute, value: unknown): string | boolean {
  if (attribute.type !== "boolean") {
    if (typeof value === "string" && isStorable(value) && isWithin(value, textLengthMax)) return value;
    throw invalidValue(path, `a text of at most ${textLengthMax} characters`);
  }
  const word = typeof value === "string" ? value.toLowerCase() : value;
  if (word === true || word === "true") return true;
  if (word === false || word === "false") return false;
  throw invalidValue(path, "true or false");
}

/** The parts of a complex value that we know, with what was given for each. */
function partsOf(attribute: Attribute, value: unknown, path: string): Array<[Attribute, unknown]> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidValue(path, "an object");
  return Object.entries(value).flatMap(([name, given]): Array<[Attribute, unknown]> => {
    const part = findPart(attribute, name);
    return part ? [[part, given]] : [];
  });
}

function invalidValue(path: string, takes: string) {
  return scimError("invalidValue", `${path} takes ${takes}.`);
}
