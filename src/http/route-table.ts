/** An address as it was registered, and the methods that it takes. */
export type Route = { path: string; methods: string[] };

/** The route that a path belongs to, and the path in its parts. */
export type FoundRoute = { route: Route; segments: string[] };

/**
 * Makes a look-up from a path to the route that it belongs to, from the routes as they are registered: for what there
 * is and what there is not, for the methods that a 405 names, and for logs, which never hold the path itself because it
 * may carry a secret. A path is taken to the letter; one with a percent sign that stands for no text belongs to none.
 */
export function routeTable(registered: ReadonlyArray<{ method: string; path: string }>) {
  const methodsByPath = new Map<string, Set<string>>();
  for (const { method, path } of registered) {
    const methods = methodsByPath.get(path) ?? new Set();
    methods.add(method);
    if (method === "GET") methods.add("HEAD");
    methodsByPath.set(path, methods);
  }
  const table = [...methodsByPath].map(([path, methods]) => ({
    segments: path.split("/"),
    route: { path, methods: [...methods].sort() },
  }));
  const tableByLength = Map.groupBy(table, ({ segments }) => segments.length);
  return (path: string): FoundRoute | undefined => {
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
