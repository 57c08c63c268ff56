import { type ResourceType, withoutSchema } from "./attributes.ts";
import { scimError } from "./errors.ts";
import type { Parameters } from "./parameters.ts";

/** The attributes that the response holds (RFC 7644, section 3.9): names in lower case, as `name.givenname`. */
export type Projection = { only: ReadonlySet<string> | undefined; not: ReadonlySet<string> };

/** A resource as JSON. */
export type Resource = { schemas: string[]; id: string; [attribute: string]: unknown };

/** These are in every response. */
const always = new Set(["schemas", "id"]);

/**
 * Reads `attributes` and `excludedAttributes`: comma-separated names, or a list of names.
 * @throws ScimError `invalidValue` for anything else.
 */
export function projectionOf(resourceType: ResourceType, parameters: Parameters): Projection {
  const only = namesOf(resourceType, "attributes", parameters("attributes"));
  const not = namesOf(resourceType, "excludedAttributes", parameters("excludedAttributes"));
  return { only: only.size === 0 ? undefined : only, not };
}

/** Whether the response holds the attribute or a part of it; if not, it need not be queried. */
export function isWanted({ only, not }: Projection, attribute: string): boolean {
  const name = attribute.toLowerCase();
  if (always.has(name)) return true;
  if (not.has(name)) return false;
  return only === undefined || only.has(name) || [...only].some((each) => each.startsWith(`${name}.`));
}

/** Returns the resource with the attributes of the projection. */
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

function namesOf(resourceType: ResourceType, parameter: string, value: unknown): Set<string> {
  if (value === undefined || value === null) return new Set();
  const names: unknown[] = Array.isArray(value)
    ? value
    : typeof value === "string"
      ? value.split(",")
      : [value];
  return new Set(
    names.flatMap((name) => {
      if (typeof name !== "string") throw scimError("invalidValue", `${parameter} takes attribute names.`);
      const plain = withoutSchema(resourceType, name.trim()).toLowerCase();
      return plain === "" ? [] : [plain];
    }),
  );
}
