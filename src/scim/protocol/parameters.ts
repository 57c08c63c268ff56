/** The parameters of a list, by their names, as they stand in an address or in the body of a `/.search`. */
export type Parameters = (name: string) => unknown;

/** The parameters in the address; those that nobody here knows do no harm. */
export function parametersOfUrl(url: string): Parameters {
  const { searchParams } = new URL(url);
  return (name) => searchParams.get(name) ?? undefined;
}

/** The parameters in a body. */
export function parametersOfBody(body: object): Parameters {
  const entries = new Map<string, unknown>(Object.entries(body));
  return (name) => entries.get(name);
}
