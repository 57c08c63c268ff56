import { DomainError } from "../errors.ts";

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
