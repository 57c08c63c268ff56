/** A path as it was registered, with `:name` for each parameter, and its endpoints by method. */
export type Route<Endpoint> = { path: string; endpoints: ReadonlyMap<string, Endpoint> };

/** The route of a path, with the path's segments. */
export type FoundRoute<Endpoint> = { route: Route<Endpoint>; segments: string[] };

/**
 * Builds the look-up from a path to its route. The server takes from it what to run, the methods that a 405 names and
 * the path that the log shows: never the request's own path, which may hold a secret. Paths match to the letter; one
 * whose percent-encoding is invalid matches nothing, and the look-up returns undefined.
 */
export function routeTable<Endpoint extends { method: string; path: string }>(
  registered: readonly Endpoint[],
): (path: string) => FoundRoute<Endpoint> | undefined {
  const table = [...Map.groupBy(registered, ({ path }) => path)].map(([path, endpoints]) => ({
    segments: path.split("/"),
    route: { path, endpoints: new Map(endpoints.map((endpoint) => [endpoint.method, endpoint])) },
  }));
  const tableByLength = Map.groupBy(table, ({ segments }) => segments.length);
  return (path) => {
    if (!isDecodable(path)) return undefined;
    const segments = path.split("/");
    const entry = tableByLength.get(segments.length)?.find((each) => matches(each.segments, segments));
    return entry && { route: entry.route, segments };
  };
}

function isDecodable(path: string): boolean {
  if (!path.includes("%")) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function matches(pattern: string[], segments: string[]): boolean {
  return pattern.every(
    (part, index) => part === segments[index] || (part.startsWith(":") && segments[index] !== ""),
  );
}
