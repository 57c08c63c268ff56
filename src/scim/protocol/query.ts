import type { ResourceType } from "./attributes.ts";
import { scimError } from "./errors.ts";
import { type Filter, parseFilter } from "./filter.ts";
import type { Parameters } from "./parameters.ts";
import { type Projection, projectionOf } from "./projection.ts";
import { findAttribute } from "./attributes.ts";

/** How many resources one answer lists at most; `count` asks for fewer. */
export const pageSizeMax = 1_000;

const pageSize = 100;

/** Which resources are wanted, in which order, and how many of them (RFC 7644, 3.4.2). */
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
 * Reads the parameters of a list. A `startIndex` below 1 is 1, a `count` below 0 is 0, and one that is too large is the
 * largest.
 * @throws ScimError `invalidFilter`; `invalidValue` for a number that is none or an attribute that is not there.
 */
export function queryOf(kind: ResourceType, parameters: Parameters): Query {
  const filter = textOf(parameters, "filter");
  const sortBy = textOf(parameters, "sortBy");
  return {
    filter: filter === undefined ? undefined : parseFilter(kind, filter),
    startIndex: Math.max(1, wholeNumberOf(parameters, "startIndex") ?? 1),
    count: Math.min(Math.max(0, wholeNumberOf(parameters, "count") ?? pageSize), pageSizeMax),
    sortBy: sortBy === undefined ? undefined : sortPath(kind, sortBy),
    isDescending: textOf(parameters, "sortOrder")?.toLowerCase() === "descending",
    projection: projectionOf(kind, parameters),
  };
}

function sortPath(kind: ResourceType, name: string): string {
  const found = findAttribute(kind, name);
  if (found) return found.path;
  throw scimError(
    "invalidValue",
    `A ${kind.name} has no attribute ${JSON.stringify(name.slice(0, 100))} to sort by.`,
  );
}

function textOf(parameters: Parameters, name: string): string | undefined {
  const value = parameters(name);
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw scimError(name === "filter" ? "invalidFilter" : "invalidValue", `${name} takes a text.`);
}

function wholeNumberOf(parameters: Parameters, name: string): number | undefined {
  const value = parameters(name);
  if (value === undefined || value === null || value === "") return undefined;
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text === "string" && /^-?\d{1,15}$/.test(text)) return Number(text);
  throw scimError("invalidValue", `${name} takes a whole number.`);
}
