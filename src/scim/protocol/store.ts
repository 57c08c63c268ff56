import { and, not, or, type SQL, sql } from "drizzle-orm";
import { scimError } from "./errors.ts";
import type { Comparison, Filter } from "./filter.ts";

/** How a resource type maps to the tables. */
export type Tables = {
  /** The columns to compare and sort by, by attribute path. */
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
      return some((columns) => conditionOf(each, { columns, lists: new Map() }));
    }
    case "pr":
      return sql`${columnOf(tables, filter.path)} IS NOT NULL`;
    default: {
      const { op, path, value, attribute } = filter;
      const column = columnOf(tables, path);
      return comparison(op, column, typeof value === "boolean" ? Number(value) : value, attribute.caseExact);
    }
  }
}

function comparison(
  op: Comparison,
  column: SQL,
  value: string | number,
  isCaseExact: boolean | undefined,
): SQL {
  const fold = (text: SQL | string | number) => (isCaseExact ? sql`${text}` : sql`lower(${text})`);
  switch (op) {
    case "eq":
      return sql`${column} = ${value}`;
    case "ne":
      return sql`${column} IS NOT ${value}`;
    // Not LIKE: it gives some characters of the value a meaning of their own, and ignores caseExact.
    case "co":
      return sql`instr(${fold(column)}, ${fold(value)}) > 0`;
    case "sw":
      return sql`substr(${fold(column)}, 1, length(${value})) = ${fold(value)}`;
    case "ew":
      return value === ""
        ? sql`${column} IS NOT NULL`
        : sql`substr(${fold(column)}, -length(${value})) = ${fold(value)}`;
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
