import type { Item } from "./document.ts";
import type { Comparison, Filter } from "./filter.ts";

/** Whether one value of a list matches the filter in the brackets after the list. */
export function fits(filter: Filter, item: Item): boolean {
  switch (filter.op) {
    case "and":
      return filter.filters.every((each) => fits(each, item));
    case "or":
      return filter.filters.some((each) => fits(each, item));
    case "not":
      return !fits(filter.filter, item);
    case "pr":
      return item[filter.path] !== undefined;
    case "some":
      return false;
    default: {
      const fold = (value: unknown) =>
        typeof value === "string" && !filter.attribute.caseExact ? value.toLowerCase() : value;
      return compare(filter.op, fold(item[filter.path]), fold(filter.value));
    }
  }
}

function compare(op: Comparison, left: unknown, right: unknown): boolean {
  if (op === "eq") return left === right;
  if (op === "ne") return left !== right;
  if (typeof left !== "string" || typeof right !== "string") return false;
  switch (op) {
    case "co":
      return left.includes(right);
    case "sw":
      return left.startsWith(right);
    case "ew":
      return left.endsWith(right);
    case "gt":
      return left > right;
    case "ge":
      return left >= right;
    case "lt":
      return left < right;
    case "le":
      return left <= right;
  }
}
