import { DomainError } from "../errors.ts";

/** How many of the rows that an ambiguous reference may mean are named. */
const candidatesShown = 10;

/**
 * Returns the one row that `reference`, an id or a name typed by a person, identifies. `noun` is the singular of what
 * the rows are.
 * @throws DomainError `not_found` without a row; `conflict`, with the ids, when there are several.
 */
export function theOnly<Row extends { id: string }>(
  rows: readonly Row[],
  noun: string,
  reference: string,
): Row {
  const [only, ...others] = rows;
  if (!only) throw new DomainError("not_found", `There is no ${noun} ${JSON.stringify(reference)}.`);
  if (others.length === 0) return only;
  const ids = rows.map(({ id }) => id).join(", ");
  throw new DomainError(
    "conflict",
    `More than one ${noun} is called ${JSON.stringify(reference)}; name one by id: ${ids}`,
  );
}

/** A part of an id with its hyphens in place: how an id with these digits at its start, or at its end, is written. */
export type PartOfId = { start: string; end: string };

/** The lengths of the groups of digits in an id. */
const groups = [8, 4, 4, 4, 12] as const;
const digitsOfId = 32;
/** Fewer digits would too often be a name. */
const digitsMin = 4;

/** Reads a whole id, its first or its last digits, at least four; undefined for any other text. Hyphens may be left out. */
export function partOfId(reference: string): PartOfId | undefined {
  if (!/^[0-9a-f-]+$/i.test(reference)) return undefined;
  const digits = reference.replaceAll("-", "").toLowerCase();
  if (digits.length < digitsMin || digits.length > digitsOfId) return undefined;
  return { start: hyphenated(digits, 0), end: hyphenated(digits, digitsOfId - digits.length) };
}

/** The digits with hyphens as in an id whose digit number `from` is the first of them. */
function hyphenated(digits: string, from: number): string {
  const parts: string[] = [];
  let begin = -from;
  for (const length of groups) {
    const part = digits.slice(Math.max(0, begin), Math.max(0, begin + length));
    if (part !== "") parts.push(part);
    begin += length;
  }
  return parts.join("-");
}

/** Returns those rows whose id begins or ends with the part. */
function withPartOfId<Row extends { id: string }>(rows: readonly Row[], part: PartOfId): Row[] {
  return rows.filter(({ id }) => id.startsWith(part.start) || id.endsWith(part.end));
}

/**
 * Returns the one row whose id is `reference`, or begins or ends with it.
 * @throws DomainError `not_found` without a row; `conflict`, with the candidates, when there are several.
 */
export function theOnlyWithId<Row extends { id: string; name?: string }>(
  rows: readonly Row[],
  noun: string,
  reference: string,
): Row {
  const part = partOfId(reference);
  const found = part ? withPartOfId(rows, part) : [];
  if (found.length <= 1) return theOnly(found, noun, reference);
  const shown = found
    .slice(0, candidatesShown)
    .map(({ id, name }) => (name === undefined ? id : `${id} (${name})`));
  if (found.length > candidatesShown) shown.push("and others");
  throw new DomainError(
    "conflict",
    `More than one ${noun} has an id that begins or ends with ${JSON.stringify(reference)}. Write more of it: ` +
      shown.join(", "),
  );
}
