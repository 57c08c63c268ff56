import { isStorable, isWithin } from "../../input/text.ts";
import { type Attribute, findSubAttribute, isIgnored } from "./attributes.ts";
import { scimError } from "./errors.ts";

/** One value of a multi-valued attribute: its sub-attributes by name. */
export type Item = { [subAttribute: string]: string | boolean };

const textLengthMax = 255;
const itemsMax = 50;

/**
 * The attributes of a resource as a directory set them, by the names of the definitions; a sub-attribute is
 * `name.givenName`. An empty string counts as no value.
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

  /** The values of a multi-valued attribute; undefined when it was never set. */
  list(name: string): readonly Item[] | undefined {
    return this.#lists.get(name);
  }

  /** Sets a value from our own data, without checking it; null clears it. */
  put(path: string, value: string | boolean | null): void {
    if (value === null) this.#values.delete(path);
    else this.#values.set(path, value);
  }

  /**
   * Sets a multi-valued attribute. Of several primary values only the last stays primary (RFC 7644, section 3.5.2).
   * @throws ScimError `invalidValue` for more than 50 values.
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
   * Sets a single-valued attribute to what a directory sent; of a complex one, each sub-attribute that is given.
   * @throws ScimError `invalidValue`.
   */
  assign(path: string, attribute: Attribute, value: unknown): void {
    if (value === null || value === undefined || value === "") return this.clear(path, attribute);
    if (attribute.type !== "complex") return this.put(path, coerced(path, attribute, value));
    for (const [subAttribute, given] of subAttributesOf(attribute, value, path))
      this.assign(`${path}.${subAttribute.name}`, subAttribute, given);
  }

  /** Clears a single-valued attribute, with its sub-attributes. */
  clear(path: string, attribute: Attribute): void {
    this.#values.delete(path);
    for (const subAttribute of attribute.subAttributes ?? [])
      this.#values.delete(`${path}.${subAttribute.name}`);
  }
}

/**
 * Returns the values that a directory sent for a multi-valued attribute: one or several, each an object or a bare
 * string that stands for its `value`. Those without a `value` are left out.
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
 * Returns the sub-attributes that a directory sent for one value of a multi-valued attribute.
 * @throws ScimError `invalidValue`.
 */
export function itemOf(list: Attribute, value: unknown): Item {
  const item: Item = {};
  for (const [subAttribute, given] of subAttributesOf(list, value, list.name)) {
    if (given !== null && given !== "" && !isIgnored(subAttribute)) {
      item[subAttribute.name] = coerced(`${list.name}.${subAttribute.name}`, subAttribute, given);
    }
  }
  return item;
}

/**
 * Returns the value in the attribute's type. Some directories send booleans as text: `"True"` is true.
 * @throws ScimError `invalidValue`.
 */
export function coerced(path: string, attribute: Attribute, value: unknown): string | boolean {
  if (attribute.type !== "boolean") {
    if (typeof value === "string" && isStorable(value) && isWithin(value, textLengthMax)) return value;
    throw invalidValue(path, `a string of at most ${textLengthMax} characters`);
  }
  const word = typeof value === "string" ? value.toLowerCase() : value;
  if (word === true || word === "true") return true;
  if (word === false || word === "false") return false;
  throw invalidValue(path, "true or false");
}

/** The sub-attributes of a complex value that are defined, with what was sent for each. */
function subAttributesOf(attribute: Attribute, value: unknown, path: string): Array<[Attribute, unknown]> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidValue(path, "an object");
  return Object.entries(value).flatMap(([name, given]): Array<[Attribute, unknown]> => {
    const subAttribute = findSubAttribute(attribute, name);
    return subAttribute ? [[subAttribute, given]] : [];
  });
}

function invalidValue(path: string, takes: string) {
  return scimError("invalidValue", `${path} takes ${takes}.`);
}
