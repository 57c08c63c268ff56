/** The parameters of a query by name, from a URL or the body of a `/.search`. */
export type Parameters = (name: string) => unknown;

/** Reads the parameters from a URL; unknown ones are ignored. */
export function parametersOfUrl(url: string): Parameters {
  const { searchParams } = new URL(url);
  return (name) => searchParams.get(name) ?? undefined;
}

/** Reads the parameters from a body. */
export function parametersOfBody(body: object): Parameters {
  const entries = new Map<string, unknown>(Object.entries(body));
  return (name) => entries.get(name);
}
