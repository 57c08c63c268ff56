import { type Attribute, isIgnored, type ResourceType } from "./attributes.ts";
import { coerced, type Document, type Item, itemOf, itemsOf } from "./document.ts";
import { scimError } from "./errors.ts";
import type { Filter } from "./filter.ts";
import { parsePath, type Target } from "./path.ts";
import { fits } from "./selection.ts";

/** The maximum number of operations in one PATCH. */
export const operationsMax = 1_000;

/** One change to one target. A PATCH entry without a path becomes one operation for each attribute of its value. */
export type PatchOperation = { op: "add" | "replace" | "remove"; target: Target; value: unknown };

/**
 * Returns the operations in the body of a PATCH, in its order (RFC 7644, section 3.5.2). Attributes that the resource
 * type does not have are ignored; so are read-only ones in a value without a path.
 * @throws ScimError `invalidSyntax`, `invalidPath`, `invalidFilter`, `mutability`, `noTarget`, `tooMany`.
 */
export function operationsOf(resourceType: ResourceType, body: object): PatchOperation[] {
  const operations = field(body, "operations");
  if (!Array.isArray(operations) || operations.length === 0) {
    throw scimError("invalidSyntax", "Operations takes a list of at least one operation.");
  }
  if (operations.length > operationsMax) {
    throw scimError("tooMany", `A PATCH has at most ${operationsMax} operations.`);
  }
  return operations.flatMap((entry: unknown) => operationsOfEntry(resourceType, entry));
}

/**
 * Returns the operations that set a resource's attributes to the values of an object, one for each attribute.
 * @throws ScimError as `operationsOf`.
 */
export function operationsOfObject(
  resourceType: ResourceType,
  op: "add" | "replace",
  value: object,
): PatchOperation[] {
  return Object.entries(value).flatMap(([key, given]): PatchOperation[] => {
    const target = parsePath(resourceType, key);
    return target && !isIgnored(target.attribute) ? [{ op, target, value: given }] : [];
  });
}

function operationsOfEntry(resourceType: ResourceType, entry: unknown): PatchOperation[] {
  if (!isObject(entry))
    throw scimError("invalidSyntax", "An operation is an object with op, path and value.");
  const [op, path, value] = [field(entry, "op"), field(entry, "path"), field(entry, "value")];
  const verb = typeof op === "string" ? op.toLowerCase() : op;
  if (verb !== "add" && verb !== "replace" && verb !== "remove") {
    throw scimError("invalidSyntax", "op takes add, replace or remove.");
  }
  if (path === undefined || path === null || path === "") {
    if (verb === "remove") throw scimError("noTarget", "A remove needs a path.");
    if (!isObject(value)) throw scimError("invalidValue", "Without a path, value takes an object.");
    return operationsOfObject(resourceType, verb, value);
  }
  if (typeof path !== "string") throw scimError("invalidPath", "path takes a string.");
  const target = parsePath(resourceType, path);
  if (!target) return [];
  if ([target.attribute, target.subAttribute].some((each) => each && each.mutability !== "readWrite")) {
    throw scimError("mutability", `${target.attribute.name} cannot be changed.`);
  }
  return [{ op: verb, target, value }];
}

/**
 * Applies the operation to the document.
 * @throws ScimError `invalidValue`; `noTarget` when the filter selects no value and does not describe one to add.
 */
export function apply(document: Document, { op, target, value }: PatchOperation): void {
  const { attribute, subAttribute } = target;
  if (attribute.multiValued)
    return document.putList(attribute.name, changed(document, { op, target, value }));
  const path = subAttribute ? `${attribute.name}.${subAttribute.name}` : attribute.name;
  if (op === "remove") document.clear(path, subAttribute ?? attribute);
  else document.assign(path, subAttribute ?? attribute, value);
}

/** The target's list after the operation. An item that is left without a `value` is removed. */
function changed(document: Document, operation: PatchOperation): readonly Item[] {
  const items = document.list(operation.target.attribute.name) ?? [];
  const { filter } = operation.target;
  const after = filter ? withSelected(items, filter, operation) : withAll(items, operation);
  return after.filter((item) => item.value !== undefined);
}

function withAll(items: readonly Item[], { op, target, value }: PatchOperation): readonly Item[] {
  const { attribute, subAttribute } = target;
  if (subAttribute)
    return items.map((item) =>
      withSubAttribute(item, attribute, subAttribute, op === "remove" ? null : value),
    );
  // Entra ID removes items of a list by sending them as the value.
  if (op === "remove" && (value === undefined || value === null)) return [];
  const given = itemsOf(attribute, value);
  if (op === "replace") return given;
  const others = items.filter((item) => !given.some((other) => other.value === item.value));
  return op === "remove" ? others : [...others, ...given];
}

function withSelected(
  items: readonly Item[],
  filter: Filter,
  { op, target, value }: PatchOperation,
): readonly Item[] {
  const { attribute, subAttribute } = target;
  const change = (item: Item): Item => {
    if (subAttribute) return withSubAttribute(item, attribute, subAttribute, op === "remove" ? null : value);
    return { ...item, ...itemOf(attribute, typeof value === "string" ? { value } : value) };
  };
  if (!items.some((item) => fits(filter, item))) {
    const described = op === "remove" ? undefined : describedBy(filter);
    if (!described) throw scimError("noTarget", `No value of ${attribute.name} is selected.`);
    // Entra ID adds a person's first address by `add` at `emails[type eq "work"].value`.
    return [...items, change(described)];
  }
  if (op === "remove" && !subAttribute) return items.filter((item) => !fits(filter, item));
  const after = items.map((item) => (fits(filter, item) ? change(item) : item));
  const promoted = after.find((item, index) => item.primary === true && items[index]?.primary !== true);
  return promoted ? after.map((item) => (item === promoted ? item : { ...item, primary: false })) : after;
}

function withSubAttribute(item: Item, list: Attribute, subAttribute: Attribute, value: unknown): Item {
  const { [subAttribute.name]: _, ...others } = item;
  if (value === null || value === undefined || value === "") return others;
  return {
    ...others,
    [subAttribute.name]: coerced(`${list.name}.${subAttribute.name}`, subAttribute, value),
  };
}

/** The item that a filter of `eq` and `and` describes; undefined for any other filter. */
function describedBy(filter: Filter): Item | undefined {
  if (filter.op === "eq")
    return typeof filter.value === "number" ? undefined : { [filter.path]: filter.value };
  if (filter.op !== "and") return undefined;
  const parts = filter.filters.map(describedBy);
  return parts.every((each) => each !== undefined) ? Object.assign({}, ...parts) : undefined;
}

/** The object's value under this name, in any case. */
function field(object: object, name: string): unknown {
  return Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
