import type { TObject, TUnsafe } from "@sinclair/typebox";

/** The key of a response whose header may name fields of the request's body, for the OpenAPI document. */
export const ignoredFieldsKey = "x-ignored-fields";

/** How many names the header has at most. The first characters of each are enough to find it. */
const namesMax = 10;
const nameLengthMax = 40;

/** Stands for the names that are left out. */
const more = "...";

/** What no token of HTTP has (RFC 9110, 5.6.2): whoever chose the names must not choose the header's syntax. */
const noToken = /[^\w!#$%&'*+.^`|~-]/gu;

/** Says in the response's headers which fields of a body have been ignored. */
export type NoteIgnoredFields = (headers: Record<string, unknown>, input: unknown) => void;

/**
 * Returns what sets `X-Ignored-Fields` to the names of the top-level fields that the schema does not have, separated by
 * commas: at most ten of 40 characters, with `_` for each that a header's token cannot have, and `...` if there are
 * more. A body without such fields gets no header. For responses to what was accepted.
 */
export function ignoredFieldsOf({ properties }: TObject): NoteIgnoredFields {
  const known = new Set(Object.keys(properties));
  return (headers, input) => {
    // Most bodies have none, so nothing is made for those. An object of JSON inherits no name that is listed here.
    for (const name in input as object) {
      if (known.has(name)) continue;
      headers["x-ignored-fields"] = namesOf(input as object, known);
      return;
    }
  };
}

/** Adds the header to the description of a response. */
export function mayIgnoreFields<Body>(response: TUnsafe<Body>): TUnsafe<Body> {
  return { ...response, [ignoredFieldsKey]: true };
}

function namesOf(input: object, known: ReadonlySet<string>): string {
  const ignored: string[] = [];
  for (const name in input) {
    if (known.has(name)) continue;
    if (ignored.length === namesMax) return [...ignored, more].join(", ");
    ignored.push(name.slice(0, nameLengthMax).replace(noToken, "_") || "_");
  }
  return ignored.join(", ");
}
