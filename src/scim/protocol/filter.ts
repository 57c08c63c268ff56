import { type Attribute, findAttribute, findSubAttribute, type ResourceType } from "./attributes.ts";
import { scimError } from "./errors.ts";

export type Comparison = "eq" | "ne" | "co" | "sw" | "ew" | "gt" | "ge" | "lt" | "le";

/** A filter (RFC 7644, 3.4.2.2) whose attributes are all known and whose values are of their types. */
export type Filter =
  | { op: "and" | "or"; filters: Filter[] }
  | { op: "not"; filter: Filter }
  /** At least one value of a multi-valued attribute matches; the filter's paths are names of sub-attributes. */
  | { op: "some"; attribute: Attribute; filter: Filter }
  | { op: "pr"; path: string }
  /** A dateTime is compared as milliseconds since 1970. */
  | { op: Comparison; path: string; attribute: Attribute; value: string | number | boolean };

/** Longer than any directory sends, and short enough for SQLite's limit on nested expressions. */
const lengthMax = 4_000;
const depthMax = 20;

const comparisons: readonly string[] = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"];
const orders: readonly string[] = ["gt", "ge", "lt", "le"];

// A bracket, a quoted string, or a run of anything else.
const token = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y;

type Token = { text: string; isQuoted: boolean };

/** Where a filter's names are looked up: the resource type, or the list whose brackets are open. */
type Scope = { resourceType: ResourceType } | { list: Attribute };

/**
 * Parses a filter for a resource type, in time linear in its length. Some directories leave out the quotes: such a
 * value counts as a string where the attribute is one.
 * @throws ScimError `invalidFilter` for a syntax error or an attribute that the resource type does not have, and for a
 *   filter longer than 4,000 characters or deeper than 20 levels.
 */
export function parseFilter(resourceType: ResourceType, text: string): Filter {
  return new Parser(text).parse({ resourceType });
}

/**
 * Parses the filter in the brackets after a list, as in `emails[type eq "work"]`.
 * @throws ScimError `invalidFilter`.
 */
export function parseSelection(list: Attribute, text: string): Filter {
  return new Parser(text).parse({ list });
}

class Parser {
  readonly #tokens: Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(scope: Scope): Filter {
    const filter = this.#either(scope);
    const rest = this.#peek();
    if (rest) throw unexpected(rest);
    return filter;
  }

  #either(scope: Scope): Filter {
    if (++this.#depth > depthMax) throw invalidFilter(`it nests deeper than ${depthMax} levels`);
    const filters = [this.#both(scope)];
    while (this.#takeWord("or")) filters.push(this.#both(scope));
    this.#depth--;
    return joined("or", filters);
  }

  #both(scope: Scope): Filter {
    const filters = [this.#term(scope)];
    while (this.#takeWord("and")) filters.push(this.#term(scope));
    return joined("and", filters);
  }

  #term(scope: Scope): Filter {
    if (this.#takeWord("not")) return { op: "not", filter: this.#group(scope) };
    if (this.#peek()?.text === "(") return this.#group(scope);
    return this.#condition(scope);
  }

  #group(scope: Scope): Filter {
    this.#expect("(");
    const filter = this.#either(scope);
    this.#expect(")");
    return filter;
  }

  #condition(scope: Scope): Filter {
    const name = this.#take();
    if (name.isQuoted) throw unexpected(name);
    if (this.#peek()?.text === "[") return this.#selection(scope, name.text);
    const found = lookUp(scope, name.text);
    const leaf = found.subAttribute ?? found.attribute;
    if (!found.attribute.multiValued) return this.#comparison(found.path, leaf);
    // A comparison of a list compares its values: `members eq "…"` is `members[value eq "…"]`.
    const subAttribute = found.subAttribute ?? findSubAttribute(found.attribute, "value") ?? leaf;
    return {
      op: "some",
      attribute: found.attribute,
      filter: this.#comparison(subAttribute.name, subAttribute),
    };
  }

  /** `emails[type eq "work"]`, and `emails[type eq "work"].value co "@example.com"` where one value matches both. */
  #selection(scope: Scope, name: string): Filter {
    const { attribute, subAttribute } = lookUp(scope, name);
    if (!attribute.multiValued || subAttribute) throw invalidFilter(`${attribute.name} is not a list`);
    this.#expect("[");
    const filter = this.#either({ list: attribute });
    this.#expect("]");
    const behind = this.#peek();
    if (!behind?.text.startsWith(".")) return { op: "some", attribute, filter };
    this.#take();
    const found = lookUp({ list: attribute }, behind.text.slice(1));
    const comparison = this.#comparison(found.path, found.attribute);
    return { op: "some", attribute, filter: joined("and", [filter, comparison]) };
  }

  #comparison(path: string, attribute: Attribute): Filter {
    const operator = this.#take();
    const op = operator.text.toLowerCase();
    if (operator.isQuoted) throw unexpected(operator);
    if (op === "pr") return presence(path, attribute);
    if (!isComparison(op)) throw invalidFilter(`there is no operator ${shown(operator.text)}`);
    if (attribute.type === "complex")
      throw invalidFilter(`${path} is complex; compare one of its sub-attributes`);
    const given = this.#take();
    if (!given.isQuoted && given.text.toLowerCase() === "null") return comparisonWithNothing(op, path);
    return { op, path, attribute, value: valueOf(given, op, path, attribute) };
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next];
  }

  #take(): Token {
    const found = this.#peek();
    if (!found) throw invalidFilter("unexpected end of filter");
    this.#next++;
    return found;
  }

  #takeWord(word: string): boolean {
    const found = this.#peek();
    if (!found || found.isQuoted || found.text.toLowerCase() !== word) return false;
    this.#next++;
    return true;
  }

  #expect(bracket: string): void {
    const found = this.#take();
    if (found.isQuoted || found.text !== bracket) throw unexpected(found);
  }
}

function tokensOf(text: string): Token[] {
  if (text.length > lengthMax) throw invalidFilter(`it is longer than ${lengthMax} characters`);
  const trimmed = text.trimEnd();
  const tokens: Token[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < trimmed.length) {
    const [, bracket, quoted, word] = token.exec(trimmed) ?? [];
    if (quoted !== undefined) tokens.push({ text: unquoted(quoted), isQuoted: true });
    else if (bracket !== undefined || word !== undefined)
      tokens.push({ text: bracket ?? word ?? "", isQuoted: false });
    else throw invalidFilter("unterminated string");
  }
  return tokens;
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw invalidFilter(`${shown(quoted)} is not a JSON string`);
  }
}

function lookUp(
  scope: Scope,
  name: string,
): { attribute: Attribute; subAttribute?: Attribute; path: string } {
  if ("resourceType" in scope) {
    const found = findAttribute(scope.resourceType, name);
    if (found) return found;
    throw invalidFilter(`a ${scope.resourceType.name} has no attribute ${shown(name)}`);
  }
  const attribute = findSubAttribute(scope.list, name);
  if (attribute) return { attribute, path: attribute.name };
  throw invalidFilter(`${scope.list.name} have no ${shown(name)}`);
}

function presence(path: string, attribute: Attribute): Filter {
  if (attribute.type !== "complex") return { op: "pr", path };
  return joined(
    "or",
    (attribute.subAttributes ?? []).map((subAttribute) => ({
      op: "pr",
      path: `${path}.${subAttribute.name}`,
    })),
  );
}

function comparisonWithNothing(op: Comparison, path: string): Filter {
  if (op === "ne") return { op: "pr", path };
  if (op === "eq") return { op: "not", filter: { op: "pr", path } };
  throw invalidFilter("null takes eq or ne only");
}

function valueOf({ text, isQuoted }: Token, op: Comparison, path: string, { type }: Attribute) {
  if (!isQuoted && /^[()[\]]$/.test(text)) throw unexpected({ text, isQuoted });
  if (type === "boolean") {
    const word = text.toLowerCase();
    if ((op !== "eq" && op !== "ne") || (word !== "true" && word !== "false")) {
      throw invalidFilter(`${path} is a boolean: it takes eq or ne with true or false`);
    }
    return word === "true";
  }
  if (type !== "dateTime") return text;
  const time = Date.parse(text);
  if (Number.isNaN(time) || !(op === "eq" || op === "ne" || orders.includes(op))) {
    throw invalidFilter(`${path} is a dateTime: it takes eq, ne, gt, ge, lt or le with a time`);
  }
  return time;
}

function joined(op: "and" | "or", filters: Filter[]): Filter {
  const [only] = filters;
  return only && filters.length === 1 ? only : { op, filters };
}

function isComparison(word: string): word is Comparison {
  return comparisons.includes(word);
}

function unexpected({ text }: Token) {
  return invalidFilter(`unexpected ${shown(text)}`);
}

function invalidFilter(why: string) {
  return scimError("invalidFilter", `The filter cannot be used: ${why}.`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
