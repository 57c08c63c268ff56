/** The request with another path. Not a copy: when a copy's body is refused half-read, Bun never sends the response. */
export function withPath(request: Request, path: string): Request {
  const url = new URL(request.url);
  url.pathname = path;
  return Object.defineProperty(request, "url", { value: url.href });
}

/** A path of characters that can be read in one way only. */
const plainPath = /^\/[\w/-]*$/;

/** Makes the look-up of a request's path as a URL has it: undefined when the URL is invalid or names two hosts. */
export function makePathOf(): (request: Request) => string | undefined {
  // Nearly all requests name the same host, so an origin that was parsed once needs no second look.
  let origin = "";
  return ({ url, headers }) => {
    // Two headers arrive joined by a comma, and Bun takes the first for the URL (RFC 9112, 3.2 wants both refused).
    if (headers.get("host")?.includes(",")) return undefined;
    if (origin !== "" && url.startsWith(origin)) {
      const query = url.indexOf("?", origin.length);
      const path = query === -1 ? url.slice(origin.length) : url.slice(origin.length, query);
      if (plainPath.test(path) && (query === -1 || !url.includes("#", query))) return path;
    }
    if (!/^https?:[^#]*$/.test(url)) return undefined;
    const parsed = URL.parse(url);
    if (parsed) origin = url.slice(0, url.indexOf("/", "https://".length));
    return parsed?.pathname;
  };
}
