import type { Attribute, ResourceType } from "./attributes.ts";
import { coerced, type Document, type Item, itemOf, itemsOf } from "./document.ts";
import { scimError } from "./errors.ts";
import type { Filter } from "./filter.ts";
import { parsePath, type Target } from "./path.ts";
import { fits } from "./selection.ts";

/** How many operations one PATCH may have. */
export const operationsMax = 1_000;

/** One change of one target. */
export type PatchOperation = { op: "add" | "replace" | "remove"; target: Target; value: unknown };

/**
 * The steps that the body of a PATCH asks for (RFC 7644, 3.5.2), in its order. What is said of attributes that we do
 * not have is left out, and so is what a value without a path says of those that do not change.
 * @throws ScimError `invalidSyntax`, `invalidPath`, `invalidFilter`, `mutability`, `noTarget`, `tooMany`.
 */
export function stepsOf(kind: ResourceType, body: object): PatchOperation[] {
  const operations = field(body, "operations");
  if (!Array.isArray(operations) || operations.length === 0) {
    throw scimError("invalidSyntax", "Operations takes a list of at least one operation.");
  }
  if (operations.length > operationsMax) {
    throw scimError("tooMany", `A PATCH has at most ${operationsMax} operations.`);
  }
  return operations.flatMap((operation: unknown) => stepsOfOperation(kind, operation));
}

/**
 * The steps that make a resource, or a part of it, into what an object says: one for each of its attributes.
 * @throws ScimError as `stepsOf`.
 */
export function stepsOfObject(kind: ResourceType, op: "add" | "replace", value: object): PatchOperation[] {
  return Object.entries(value).flatMap(([key, given]): PatchOperation[] => {
    const target = parsePath(kind, key);
    return target && !target.attribute.isReadOnly ? [{ op, target, value: given }] : [];
  });
}

function stepsOfOperation(kind: ResourceType, operation: unknown): PatchOperation[] {
  if (!isObject(operation))
    throw scimError("invalidSyntax", "An operation is an object with op, path and value.");
  const [op, path, value] = [field(operation, "op"), field(operation, "path"), field(operation, "value")];
  const verb = typeof op === "string" ? op.toLowerCase() : op;
  if (verb !== "add" && verb !== "replace" && verb !== "remove") {
    throw scimError("invalidSyntax", "op takes add, replace or remove.");
  }
  if (path === undefined || path === null || path === "") {
    if (verb === "remove") throw scimError("noTarget", "A remove needs a path.");
    if (!isObject(value)) throw scimError("invalidValue", "Without a path, value takes an object.");
    return stepsOfObject(kind, verb, value);
  }
  if (typeof path !== "string") throw scimError("invalidPath", "path takes a text.");
  const target = parsePath(kind, path);
  if (!target) return [];
  if (target.attribute.isReadOnly || target.part?.isReadOnly || target.part?.isImmutable) {
    throw scimError("mutability", `${target.attribute.name} cannot be changed.`);
  }
  return [{ op: verb, target, value }];
}

/**
 * Takes a step in the document.
 * @throws ScimError `invalidValue`; `noTarget` when nothing is selected and nothing can be made of the selection.
 */
export function take(document: Document, { op, target, value }: PatchOperation): void {
  const { attribute, part } = target;
  if (attribute.multiValued)
    return document.putList(attribute.name, changed(document, { op, target, value }));
  const path = part ? `${attribute.name}.${part.name}` : attribute.name;
  if (op === "remove") document.clear(path, part ?? attribute);
  else document.assign(path, part ?? attribute, value);
}

/** The list of the target as it is after the step. A value that is left without its `value` is gone. */
function changed(document: Document, step: PatchOperation): readonly Item[] {
  const items = document.list(step.target.attribute.name) ?? [];
  const { filter } = step.target;
  const after = filter ? withSelected(items, filter, step) : withAll(items, step);
  return after.filter((item) => item.value !== undefined);
}

function withAll(items: readonly Item[], { op, target, value }: PatchOperation): readonly Item[] {
  const { attribute, part } = target;
  if (part) return items.map((item) => withPart(item, attribute, part, op === "remove" ? null : value));
  // Entra ID removes values of a list by naming them in the value.
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
  const { attribute, part } = target;
  const change = (item: Item): Item => {
    if (part) return withPart(item, attribute, part, op === "remove" ? null : value);
    return { ...item, ...itemOf(attribute, typeof value === "string" ? { value } : value) };
  };
  if (!items.some((item) => fits(filter, item))) {
    const described = op === "remove" ? undefined : describedBy(filter);
    if (!described) throw scimError("noTarget", `No value of ${attribute.name} is selected.`);
    // Entra ID gives the first address to a person by `add` at `emails[type eq "work"].value`.
    return [...items, change(described)];
  }
  if (op === "remove" && !part) return items.filter((item) => !fits(filter, item));
  const after = items.map((item) => (fits(filter, item) ? change(item) : item));
  const promoted = after.find((item, index) => item.primary === true && items[index]?.primary !== true);
  return promoted ? after.map((item) => (item === promoted ? item : { ...item, primary: false })) : after;
}

function withPart(item: Item, list: Attribute, part: Attribute, value: unknown): Item {
  const { [part.name]: _, ...others } = item;
  if (value === null || value === undefined || value === "") return others;
  return { ...others, [part.name]: coerced(`${list.name}.${part.name}`, part, value) };
}

/** The value that a selection of equal parts describes; undefined for one that leaves it open. */
function describedBy(filter: Filter): Item | undefined {
  if (filter.op === "eq")
    return typeof filter.value === "number" ? undefined : { [filter.path]: filter.value };
  if (filter.op !== "and") return undefined;
  const parts = filter.filters.map(describedBy);
  return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined;
}

/** The value of an object under this name, in whatever case. */
function field(object: object, name: string): unknown {
  return Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
