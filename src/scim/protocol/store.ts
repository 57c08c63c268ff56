import { and, not, or, type SQL, sql } from "drizzle-orm";
import type { Connection } from "../../database/database.ts";
import { contains, foldCase } from "../../database/text.ts";
import { scimError } from "./errors.ts";
import type { Filter } from "./filter.ts";

/** How a resource type maps to the tables. */
export type Tables = {
  engine: Connection["engine"];
  /** The columns to compare and sort by, by attribute path; `caseless` where case does not count. */
  columns: ReadonlyMap<string, SQL>;
  /** For each list, the condition that one of its values meets `where`. */
  lists: ReadonlyMap<string, (where: (columns: Tables["columns"]) => SQL) => SQL>;
};

/**
 * Translates the filter into a SQL condition.
 * @throws ScimError `invalidFilter` for an attribute without a column.
 */
export function conditionOf(filter: Filter, tables: Tables): SQL {
  switch (filter.op) {
    case "and":
    case "or": {
      const join = filter.op === "and" ? and : or;
      return join(...filter.filters.map((each) => conditionOf(each, tables))) ?? sql`false`;
    }
    case "not":
      // A comparison with NULL is NULL and so is its negation, so that the row would match neither.
      return not(sql`coalesce(${conditionOf(filter.filter, tables)}, false)`);
    case "some": {
      const { attribute, filter: each } = filter;
      const some = tables.lists.get(attribute.name);
      if (!some) throw notCompared(attribute.name);
      return some((columns) => conditionOf(each, { ...tables, columns, lists: new Map() }));
    }
    case "pr":
      return sql`${columnOf(tables, filter.path)} IS NOT NULL`;
    default:
      return comparison(filter, columnOf(tables, filter.path), tables.engine);
  }
}

function comparison(
  { op, attribute, value: given }: Extract<Filter, { value: unknown }>,
  column: SQL,
  engine: Tables["engine"],
): SQL {
  const isCaseless = typeof given === "string" && !attribute.caseExact;
  const value = isCaseless ? foldCase(given) : typeof given === "boolean" ? Number(given) : given;
  const text = isCaseless ? sql`lower(${column})` : column;
  switch (op) {
    case "eq":
      return sql`${column} = ${value}`;
    case "ne":
      return sql`${column} IS DISTINCT FROM ${value}`;
    case "co":
      return contains(engine, text, value);
    case "sw":
      return sql`substr(${text}, 1, length(${value})) = ${value}`;
    case "ew":
      return sql`substr(${text}, length(${text}) - length(${value}) + 1) = ${value}`;
    case "gt":
      return sql`${column} > ${value}`;
    case "ge":
      return sql`${column} >= ${value}`;
    case "lt":
      return sql`${column} < ${value}`;
    case "le":
      return sql`${column} <= ${value}`;
  }
}

function columnOf({ columns }: Tables, path: string): SQL {
  const column = columns.get(path);
  if (column) return column;
  throw notCompared(path);
}

function notCompared(path: string) {
  return scimError("invalidFilter", `The filter cannot be used: ${path} cannot be compared.`);
}
