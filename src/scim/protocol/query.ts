import type { ResourceType } from "./attributes.ts";
import { scimError } from "./errors.ts";
import { type Filter, parseFilter } from "./filter.ts";
import type { Parameters } from "./parameters.ts";
import { type Projection, projectionOf } from "./projection.ts";
import { findAttribute } from "./attributes.ts";

/** The maximum number of resources in one response; `count` asks for fewer. */
export const pageSizeMax = 1_000;

const pageSize = 100;

/** The query for a list of resources: filter, order and page (RFC 7644, section 3.4.2). */
export type Query = {
  filter: Filter | undefined;
  /** From 1 on. */
  startIndex: number;
  count: number;
  /** The path of the attribute to sort by. */
  sortBy: string | undefined;
  isDescending: boolean;
  projection: Projection;
};

/**
 * Reads the query parameters. A `startIndex` below 1 counts as 1; `count` is 100 by default, at least 0 and at most
 * 1,000, and other numbers count as the nearest.
 * @throws ScimError `invalidFilter`; `invalidValue` for a malformed number or an unknown attribute in `sortBy`.
 */
export function queryOf(resourceType: ResourceType, parameters: Parameters): Query {
  const filter = textOf(parameters, "filter");
  const sortBy = textOf(parameters, "sortBy");
  return {
    filter: filter === undefined ? undefined : parseFilter(resourceType, filter),
    startIndex: Math.max(1, wholeNumberOf(parameters, "startIndex") ?? 1),
    count: Math.min(Math.max(0, wholeNumberOf(parameters, "count") ?? pageSize), pageSizeMax),
    sortBy: sortBy === undefined ? undefined : sortPath(resourceType, sortBy),
    isDescending: textOf(parameters, "sortOrder")?.toLowerCase() === "descending",
    projection: projectionOf(resourceType, parameters),
  };
}

function sortPath(resourceType: ResourceType, name: string): string {
  const found = findAttribute(resourceType, name);
  if (found) return found.path;
  throw scimError(
    "invalidValue",
    `A ${resourceType.name} has no attribute ${JSON.stringify(name.slice(0, 100))} to sort by.`,
  );
}

function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters(name);
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw scimError(name === "filter" ? "invalidFilter" : "invalidValue", `${name} takes a string.`);
}

function wholeNumberOf(parameters: Parameters, name: string): number | undefined {
  const value = parameters(name);
  if (value === undefined || value === null || value === "") return undefined;
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && /^-?\d{1,15}$/.test(text)) return Number(text);
  throw scimError("invalidValue", `${name} takes an integer.`);
}
