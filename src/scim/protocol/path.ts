import { type Attribute, findAttribute, findPart, type ResourceType, withoutSchema } from "./attributes.ts";
import { scimError } from "./errors.ts";
import { type Filter, parseSelection } from "./filter.ts";

/** What an operation of a PATCH is about: an attribute, a part of it, or some values of a list. */
export type Target = {
  attribute: Attribute;
  part?: Attribute;
  /** Which values of the list are meant. */
  filter?: Filter;
};

// No attribute is called so, and code that takes names from outside for keys of objects would reach into every object.
const neverNames = new Set(["__proto__", "constructor", "prototype"]);

/**
 * The target of `displayName`, `name.givenName`, `emails[type eq "work"].value`, with or without the schema's URN in
 * front. Undefined for an attribute or a part that we do not have, which directories send a lot of.
 * @throws ScimError `invalidPath` for what is not a path, `invalidFilter` for what stands in its brackets.
 */
export function parsePath(kind: ResourceType, path: string): Target | undefined {
  const text = withoutSchema(kind, path);
  const open = text.indexOf("[");
  const close = text.lastIndexOf("]");
  const name = open < 0 ? text : text.slice(0, open);
  const behind = open < 0 ? "" : text.slice(close + 1);
  const isForeign = open < 0 && /^urn:/i.test(text);
  if (close < open || (open >= 0 && !/^(\.[\w$-]+)?$/.test(behind))) throw invalidPath(path);
  if ([...name.split("."), behind.slice(1)].some((part) => neverNames.has(part))) throw invalidPath(path);
  if (!isForeign && !/^[\w$-]+(\.[\w$-]+)?$/.test(name)) throw invalidPath(path);

  const found = isForeign ? undefined : findAttribute(kind, name);
  if (!found) return undefined;
  const { attribute } = found;
  if (open < 0) return found.part ? { attribute, part: found.part } : { attribute };
  if (!attribute.multiValued || found.part) throw invalidPath(path);
  const filter = parseSelection(attribute, text.slice(open + 1, close));
  if (behind === "") return { attribute, filter };
  const part = findPart(attribute, behind.slice(1));
  return part && { attribute, part, filter };
}

function invalidPath(path: string) {
  return scimError("invalidPath", `${JSON.stringify(path.slice(0, 100))} is not the path of an attribute.`);
}
