import {
  type Attribute,
  findAttribute,
  findSubAttribute,
  type ResourceType,
  withoutSchema,
} from "./attributes.ts";
import { scimError } from "./errors.ts";
import { type Filter, parseSelection } from "./filter.ts";

/** The target of a PATCH operation: an attribute, a sub-attribute, or some values of a list. */
export type Target = {
  attribute: Attribute;
  subAttribute?: Attribute;
  /** Selects values of the list. */
  filter?: Filter;
};

// No attribute has these names, and used as keys of an object they would reach the prototype of all objects.
const neverNames = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Parses a path such as `displayName`, `name.givenName` or `emails[type eq "work"].value`, with or without the schema's
 * URN in front. Returns undefined for attributes and sub-attributes without a definition: directories send many.
 * @throws ScimError `invalidPath` for a syntax error, `invalidFilter` for one in the brackets.
 */
export function parsePath(resourceType: ResourceType, path: string): Target | undefined {
  const text = withoutSchema(resourceType, path);
  const open = text.indexOf("[");
  const close = text.lastIndexOf("]");
  const name = open < 0 ? text : text.slice(0, open);
  const behind = open < 0 ? "" : text.slice(close + 1);
  const isForeign = open < 0 && /^urn:/i.test(text);
  if (close < open || (open >= 0 && !/^(\.[\w$-]+)?$/.test(behind))) throw invalidPath(path);
  if ([...name.split("."), behind.slice(1)].some((part) => neverNames.has(part))) throw invalidPath(path);
  if (!isForeign && !/^[\w$-]+(\.[\w$-]+)?$/.test(name)) throw invalidPath(path);

  const found = isForeign ? undefined : findAttribute(resourceType, name);
  if (!found) return undefined;
  const { attribute } = found;
  if (open < 0) return found.subAttribute ? { attribute, subAttribute: found.subAttribute } : { attribute };
  if (!attribute.multiValued || found.subAttribute) throw invalidPath(path);
  const filter = parseSelection(attribute, text.slice(open + 1, close));
  if (behind === "") return { attribute, filter };
  const subAttribute = findSubAttribute(attribute, behind.slice(1));
  return subAttribute && { attribute, subAttribute, filter };
}

function invalidPath(path: string) {
  return scimError("invalidPath", `${JSON.stringify(path.slice(0, 100))} is not an attribute path.`);
}
