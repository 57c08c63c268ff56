import { type ResourceType, withoutSchema } from "./attributes.ts";
import { scimError } from "./errors.ts";
import type { Parameters } from "./parameters.ts";

/** Which attributes of a resource are wanted (RFC 7644, 3.9): names in lower case, parts as `name.givenname`. */
export type Projection = { only: ReadonlySet<string> | undefined; not: ReadonlySet<string> };

/** A resource as JSON. */
export type Resource = { schemas: string[]; id: string; [attribute: string]: unknown };

/** These are in every answer. */
const always = new Set(["schemas", "id"]);

/**
 * Reads `attributes` and `excludedAttributes`: names with commas between them, or a list of names.
 * @throws ScimError `invalidValue` for anything else.
 */
export function projectionOf(kind: ResourceType, parameters: Parameters): Projection {
  const only = namesOf(kind, "attributes", parameters("attributes"));
  const not = namesOf(kind, "excludedAttributes", parameters("excludedAttributes"));
  return { only: only.size === 0 ? undefined : only, not };
}

/** Whether the attribute, or a part of it, is wanted: what is not need not be looked up. */
export function isWanted({ only, not }: Projection, attribute: string): boolean {
  const name = attribute.toLowerCase();
  if (always.has(name)) return true;
  if (not.has(name)) return false;
  return only === undefined || only.has(name) || [...only].some((each) => each.startsWith(`${name}.`));
}

/** The resource with what is wanted of it. */
export function project(resource: Resource, projection: Projection): Resource {
  const { only, not } = projection;
  if (only === undefined && not.size === 0) return resource;
  const wanted = Object.entries(resource).filter(([name]) => isWanted(projection, name));
  const parts = (name: string, value: unknown): unknown => {
    const prefix = `${name.toLowerCase()}.`;
    if (Array.isArray(value)) return value.map((each: unknown) => parts(name, each));
    if (typeof value !== "object" || value === null) return value;
    const isWhole = only === undefined || always.has(name) || only.has(name.toLowerCase());
    return Object.fromEntries(
      Object.entries(value).filter(([part]) => {
        const path = prefix + part.toLowerCase();
        return (isWhole || only.has(path)) && !not.has(path);
      }),
    );
  };
  return Object.fromEntries(wanted.map(([name, value]) => [name, parts(name, value)])) as Resource;
}

function namesOf(kind: ResourceType, parameter: string, value: unknown): Set<string> {
  if (value === undefined || value === null) return new Set();
  const names: unknown[] = Array.isArray(value)
    ? value
    : typeof value === "string"
      ? value.split(",")
      : [value];
  return new Set(
    names.flatMap((name) => {
      if (typeof name !== "string")
        throw scimError("invalidValue", `${parameter} takes names of attributes.`);
      const plain = withoutSchema(kind, name.trim()).toLowerCase();
      return plain === "" ? [] : [plain];
    }),
  );
}
