import type { DescriptorReserve } from "../system/descriptors.ts";
import type { Log } from "../log/log.ts";
import { noteOriginal } from "./client-address.ts";
import type { FastPath } from "./fast-path.ts";
import { Listener } from "./listener.ts";
import { internalErrorMessage, internalErrorOf, noteInternalError, errorBody } from "./error-responses.ts";
import { type FoundRoute, routeTable } from "./route-table.ts";

/** What answers requests, with the routes that it knows. */
export type Application = {
  fetch: (request: Request) => Response | Promise<Response>;
  routes: ReadonlyArray<{ method: string; path: string }>;
  /** Of some of them a shorter way to the same answer, by method and path. */
  direct?: ReadonlyMap<string, FastPath>;
  /** The path that another one stands for, where a part of the application allows for that. */
  meant?: (path: string) => string | undefined;
  /** Refuses what gets to no route, where the address belongs to a part with a form of its own. */
  refuse?: (
    path: string,
    status: number,
    message: string,
    headers: Record<string, string>,
  ) => Response | undefined;
};

/** Slow senders and idle connections are closed after about so long. */
const idleTimeoutSeconds = 10;

/**
 * Serves the application. Every answer, whatever it is, carries `X-Request-Id` and leaves one log line; an address
 * that is not among the routes answers 404, one that is there for other methods 405 with `Allow`. `reserve` is held back
 * from its connections.
 * @throws the operating system's error when the address is taken or not ours.
 */
export function startServer(
  application: Application,
  log: Log,
  address: { host: string; port: number },
  reserve: DescriptorReserve,
): Listener {
  const findRoute = routeTable(application.routes);
  const ways = endpointsOf(application, log);
  const pathOf = makePathOf();

  async function answer(request: Request): Promise<Response> {
    const startedAt = performance.now();
    listener.hear();
    const id = Bun.randomUUIDv7();
    // What one token may see is nothing for a cache on the way, and a refusal may be lifted the next moment.
    const always: Record<string, string> = {
      "x-request-id": id,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    };
    if (listener.endsConnections) always.connection = "close";
    const path = pathOf(request);
    const found = path === undefined ? undefined : findRoute(path);
    const meant = found || path === undefined ? path : application.meant?.(path);
    if (meant !== undefined && meant !== path) return await answer(withPath(request, meant));
    const route = found?.route.path;
    const way = found && ways.get(found.route.path)?.get(request.method);
    const response =
      found && way?.direct
        ? await way.direct(request, found.segments, always)
        : withHeaders(await respond(request, path, found), always);
    // Bun adds it to every answer but those to HEAD, which have to say what those to GET do.
    if (request.method === "HEAD") response.headers.set("date", new Date().toUTCString());
    const line = {
      request_id: id,
      status: response.status,
      duration_ms: Math.round((performance.now() - startedAt) * 100) / 100,
    };
    const routeLog = way?.log ?? log.child({ method: request.method, route });
    // 501 says what we do not offer, and is nothing that went wrong.
    if (response.status < 500 || response.status === 501) routeLog.info(line, "request.handled");
    else routeLog.error({ ...line, err: internalErrorOf(request) }, "request.failed");
    return response;
  }

  async function respond(
    request: Request,
    path: string | undefined,
    found: FoundRoute | undefined,
  ): Promise<Response> {
    const refusal = (status: number, message: string, headers: Record<string, string> = {}): Response =>
      application.refuse?.(path ?? "", status, message, headers) ??
      Response.json(errorBody(message), { status, headers });
    // HTTP/1.0 without a host, a host that is none, the target of a proxy request, a fragment: nothing to build on.
    if (path === undefined) return refusal(400, "The request's address or Host is not valid.");
    // The framework's own router is looser: it takes an address with a slash at its end, which is what `…/..` leaves
    // of another one, for the address without it.
    if (!found) return refusal(404, "There is nothing at this address.");
    const { methods } = found.route;
    if (!methods.includes(request.method)) {
      const allow = methods.join(", ");
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
      return refusal(405, `This address takes ${allow}, not ${request.method}.`, { allow });
    }
    // Of the answer to HEAD the server sends the headers alone, with the length that the body has.
    const handled = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request;
    if (handled !== request) noteOriginal(handled, request);
    try {
      const response = await application.fetch(handled);
      if (handled !== request) noteInternalError(request, internalErrorOf(handled));
      return response;
    } catch (error) {
      noteInternalError(request, error);
      return refusal(500, internalErrorMessage);
    }
  }

  const open = (port: number) =>
    Bun.serve({
      hostname: address.host,
      port,
      idleTimeout: idleTimeoutSeconds,
      // Whoever reads a body bounds it, and refuses in JSON what is too long; Bun would do so without a word. A body that
      // nobody reads is not kept.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // In development Bun would answer a fault with a page that shows the source.
      development: false,
      // Bun has it on outside of development: a second server would listen beside the first and take half of its requests.
      reusePort: false,
      fetch: answer,
    });
  const listener = new Listener(address.port, open, reserve, log);
  return listener;
}

/** What the requests of a route with a method share: their log, where that is written out once, and a shorter way. */
type Endpoint = { log: Log; direct: FastPath | undefined };

/** The ways by path and method, as they are registered. */
function endpointsOf({ routes, direct }: Application, log: Log): Map<string, Map<string, Endpoint>> {
  const ways = new Map<string, Map<string, Endpoint>>();
  for (const { method, path } of routes) {
    const way = { log: log.child({ method, route: path }), direct: direct?.get(`${method} ${path}`) };
    ways.set(path, (ways.get(path) ?? new Map<string, Endpoint>()).set(method, way));
  }
  return ways;
}

function withHeaders(response: Response, always: Record<string, string>): Response {
  for (const [name, value] of Object.entries(always)) {
    // What may be kept, and for how long, some answers know better.
    if (name !== "cache-control" || !response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

/** The request with another path. No copy: of a copy whose body is refused half-read, Bun never sends the answer. */
function withPath(request: Request, path: string): Request {
  const url = new URL(request.url);
  url.pathname = path;
  return Object.defineProperty(request, "url", { value: url.href });
}

/** A path alone, made of nothing that could be read in more than one way. */
const plainPath = /^\/[\w/-]*$/;

/** The path of the request's address as a URL has it, or undefined when the address is none or named with two hosts. */
function makePathOf(): (request: Request) => string | undefined {
  // Nearly all requests name the same host: what was once found to be one needs no second look.
  let origin = "";
  return ({ url, headers }) => {
    // Two headers arrive joined by a comma, and Bun takes the first for the URL (RFC 9112, 3.2 wants both refused).
    if (headers.get("host")?.includes(",")) return undefined;
    if (origin !== "" && url.startsWith(origin)) {
      const path = url.slice(origin.length);
      if (plainPath.test(path)) return path;
    }
    if (!/^https?:[^#]*$/.test(url)) return undefined;
    const parsed = URL.parse(url);
    if (parsed) origin = url.slice(0, url.indexOf("/", "https://".length));
    return parsed?.pathname;
  };
}
