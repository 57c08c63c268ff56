import type { DescriptorReserve } from "../system/descriptors.ts";
import { noteWork } from "../tracing/request-work.ts";
import type { Tracing } from "../tracing/tracing.ts";
import type { Log } from "../log/log.ts";
import type { RequestObserver } from "../metrics/requests.ts";
import { noteOriginal } from "./client-address.ts";
import { errorBody, internalErrorMessage, internalErrorOf, noteInternalError } from "./error-responses.ts";
import type { Respond } from "./fast-path.ts";
import { Listener } from "./listener.ts";
import { type LineOfEndpoint, lineOfEndpoint, writeRequestLine } from "./request-line.ts";
import { makePathOf, withPath } from "./request-path.ts";
import { type Route, routeTable } from "./route-table.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Handles requests; `routes` are those that it has. */
export type Application = {
  fetch: (request: Request) => Response | Promise<Response>;
  routes: ReadonlyArray<{ method: string; path: string }>;
  /** Shorter ways to the same responses for some of the routes, by method and path. */
  fastPaths?: ReadonlyMap<string, Respond>;
  /** The path that another spelling stands for, in the parts of the application that allow other spellings. */
  canonicalPath?: (path: string) => string | undefined;
  /** The error response to a request that reaches no handler, for paths whose errors have a form of their own. */
  errorResponse?: (
    path: string,
    status: number,
    message: string,
    headers: Record<string, string>,
  ) => Response | undefined;
};

/** What a server may do besides. */
type ServerOptions = {
  proxies?: TrustedProxies | undefined;
  tracing?: Tracing | undefined;
  observe?: RequestObserver | undefined;
};

/** Bun closes idle connections and slow senders after about this time. */
const idleTimeoutSeconds = 10;

/** What handles one method of a route. */
type Endpoint = {
  method: string;
  path: string;
  respond: Respond;
  line: LineOfEndpoint;
};

/**
 * Serves the application until the returned listener is stopped. Every response carries `X-Request-Id` and writes one
 * log line. A path without a route is 404; a route without the method is 405 with `Allow`. The listener keeps `reserve`
 * free of connections. With `proxies`, a client's address is the one that these tell of. `observe` is called after each
 * response.
 * @throws the operating system's error when the address is in use or is not one of this machine.
 */
export function startServer(
  application: Application,
  log: Log,
  address: { host: string; port: number },
  reserve: DescriptorReserve,
  { proxies, tracing, observe }: ServerOptions = {},
): Listener {
  const findRoute = routeTable(endpointsOf(application));
  const pathOf = makePathOf();

  async function handle(request: Request): Promise<Response> {
    const startedAt = performance.now();
    listener.countRequest();
    // A client that hangs up later takes its address along.
    const address = listener.addressOf(request);
    const path = pathOf(request);
    const found = path === undefined ? undefined : findRoute(path);
    const canonical = found || path === undefined ? path : application.canonicalPath?.(path);
    if (canonical !== undefined && canonical !== path) return await handle(withPath(request, canonical));
    const id = Bun.randomUUIDv7();
    const work = tracing?.beginRequest(request, found?.route.path);
    if (work) noteWork(request, work);
    // A token's view is not for a shared cache, and an error may be over the next moment.
    const headers: Record<string, string> = {
      "x-request-id": id,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    };
    if (listener.endsConnections) headers.connection = "close";
    const endpoint = found?.route.endpoints.get(request.method);
    const response =
      found && endpoint
        ? await endpoint.respond(request, found.segments, headers)
        : withHeaders(unroutedResponse(application, request, path, found?.route), headers);
    // Bun adds it to every response except those to HEAD, which must carry the headers of GET.
    if (request.method === "HEAD") response.headers.set("date", new Date().toUTCString());
    work?.endRequest(response.status);
    const durationMs = performance.now() - startedAt;
    observe?.(request.method, found?.route.path, response.status, durationMs);
    writeRequestLine(
      log,
      request,
      { found, line: endpoint?.line },
      {
        request_id: id,
        status: response.status,
        duration_ms: Math.round(durationMs * 100) / 100,
        address,
        trace_id: work?.traceId,
      },
    );
    return response;
  }

  const listener = new Listener(
    address.port,
    (port) => serve(address.host, port, handle),
    reserve,
    log,
    proxies,
  );
  return listener;
}

function serve(hostname: string, port: number, fetch: (request: Request) => Promise<Response>) {
  return Bun.serve({
    hostname,
    port,
    idleTimeout: idleTimeoutSeconds,
    // Handlers limit the bodies that they read, and refuse a longer one in JSON; Bun would send no body. It does not
    // buffer a body that nobody reads.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // In development mode Bun responds to an error with a page that shows the source.
    development: false,
    // On by default outside of development: a second server would share the port and take half of the requests.
    reusePort: false,
    fetch,
  });
}

/** The endpoints of all routes; every route with GET also has HEAD. */
function endpointsOf(application: Application): Endpoint[] {
  const endpointOf = (method: string, path: string, respond: Respond) => ({
    method,
    path,
    respond,
    line: lineOfEndpoint(method, path),
  });
  return application.routes.flatMap(({ method, path }) => {
    const respond = application.fastPaths?.get(`${method} ${path}`) ?? throughFramework(application, path);
    const endpoint = endpointOf(method, path, respond);
    return method === "GET" ? [endpoint, endpointOf("HEAD", path, respondToHead(respond))] : [endpoint];
  });
}

function throughFramework(application: Application, path: string): Respond {
  return async (request, _segments, headers) => {
    try {
      return withHeaders(await application.fetch(request), headers);
    } catch (error) {
      noteInternalError(request, error);
      return withHeaders(errorResponse(application, path, 500, internalErrorMessage), headers);
    }
  };
}

/** Runs GET: of its response Bun sends the headers alone, with the length of the body. */
function respondToHead(respondToGet: Respond): Respond {
  return async (request, segments, headers) => {
    const get = new Request(request, { method: "GET" });
    noteOriginal(get, request);
    const response = await respondToGet(get, segments, headers);
    noteInternalError(request, internalErrorOf(get));
    return response;
  };
}

/** The response to a request that no endpoint takes. */
function unroutedResponse(
  application: Application,
  request: Request,
  path: string | undefined,
  route: Route<Endpoint> | undefined,
): Response {
  // HTTP/1.0 without a host, an invalid host, the target of a proxy request, a fragment: there is no URL to route by.
  if (path === undefined)
    return errorResponse(application, "", 400, "The request's address or Host is not valid.");
  // The framework's own router is looser: it takes a path with a trailing slash, which is what `…/..` leaves of another
  // one, for the path without it.
  if (!route) return errorResponse(application, path, 404, "There is nothing at this address.");
  const allow = [...route.endpoints.keys()].sort().join(", ");
  if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  const message = `This address takes ${allow}, not ${request.method}.`;
  return errorResponse(application, path, 405, message, { allow });
}

function errorResponse(
  application: Application,
  path: string,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return (
    application.errorResponse?.(path, status, message, headers) ??
    Response.json(errorBody(message), { status, headers })
  );
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) {
    // Some responses say themselves how long they may be cached.
    if (name !== "cache-control" || !response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}
