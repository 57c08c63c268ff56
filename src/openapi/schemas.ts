import type { Schema } from "./document.ts";

// Others, such as `isTrimmed`, mean something to our own validation only.
const keywords = new Set([
  "type",
  "title",
  "description",
  "examples",
  "enum",
  "const",
  "format",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "uniqueItems",
  "items",
  "properties",
  "required",
  "additionalProperties",
]);

/** The keywords that contain schemas. */
type Parts = {
  properties?: Record<string, Schema>;
  items?: Schema;
  patternProperties?: Record<string, Schema>;
  anyOf?: Schema[];
};

/** How TypeBox writes "every key" of a record. */
const everyKey = "^(.*)$";

/**
 * Returns the schema in the form of OpenAPI 3.1. A schema with an `$id`, nested ones included, goes into `named`, and a
 * reference takes its place.
 */
export function finishedSchema(schema: Schema, named: Map<string, Schema>): Schema {
  const { $id, ...rest } = schema;
  if (typeof $id !== "string") return withKeywordsOnly(rest, named);
  if (!named.has($id)) named.set($id, withKeywordsOnly(rest, named));
  return { $ref: `#/components/schemas/${$id}` };
}

function withKeywordsOnly(schema: Schema, named: Map<string, Schema>): Schema {
  const finished: Schema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keywords.has(keyword)) finished[keyword] = value;
  }
  // Redundant: our text types always have both limits.
  if (finished.minLength === 0) delete finished.minLength;
  const { properties, items, patternProperties, anyOf } = schema as Parts;
  if (properties) finished.properties = finishedProperties(properties, named);
  if (items) finished.items = finishedSchema(items, named);
  const value = patternProperties?.[everyKey];
  if (value) finished.additionalProperties = finishedSchema(value, named);
  if (!anyOf) return finished;
  const branches = anyOf.map((branch) => finishedSchema(branch, named));
  return { ...finished, ...(nullable(branches) ?? { anyOf: branches }) };
}

function finishedProperties(properties: Record<string, Schema>, named: Map<string, Schema>): Schema {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, finishedSchema(schema, named)]),
  );
}

/** "X or null" as one schema with two types, which reads better than a union; undefined if X cannot be written so. */
function nullable([branch, other]: Schema[]): Schema | undefined {
  if (typeof branch?.type !== "string" || branch.enum || other?.type !== "null") return undefined;
  return { ...branch, type: [branch.type, "null"] };
}
