import type { Log } from "../log.ts";
import { faultMessage, faultOf, refusalBody } from "./refusals.ts";
import { type Route, routeTable } from "./route-table.ts";

/** What answers requests, with the routes that it knows. */
export type Application = {
  fetch: (request: Request) => Response | Promise<Response>;
  routes: ReadonlyArray<{ method: string; path: string }>;
  /** Refuses what gets to no route, where the address belongs to a part with a form of its own. */
  refuse?: (
    path: string,
    status: number,
    message: string,
    headers: Record<string, string>,
  ) => Response | undefined;
};

/** An answer, and the fault of ours that it covers up, where there is one. */
type Outcome = { response: Response; fault?: unknown };

/** Slow senders and idle connections are closed after about so long. */
const idleTimeoutSeconds = 10;

/**
 * Serves the application. Every answer, whatever it is, carries `X-Request-Id` and leaves one log line; an address
 * that is not among the routes answers 404, one that is there for other methods 405 with `Allow`.
 * @throws the operating system's error when the address is taken or not ours.
 */
export function startServer(application: Application, log: Log, address: { host: string; port: number }) {
  const findRoute = routeTable(application.routes);

  async function answer(request: Request): Promise<Response> {
    const startedAt = performance.now();
    const id = Bun.randomUUIDv7();
    const path = pathOf(request);
    const route = path === undefined ? undefined : findRoute(path);
    const { response, fault } = await respond(request, path, route);
    response.headers.set("x-request-id", id);
    response.headers.set("x-content-type-options", "nosniff");
    // What one token may see is nothing for a cache on the way, and a refusal may be lifted the next moment.
    if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
    const line = {
      request_id: id,
      method: request.method,
      route: route?.path,
      status: response.status,
      duration_ms: Math.round((performance.now() - startedAt) * 100) / 100,
    };
    // 501 says what we do not offer, and is nothing that went wrong.
    if (response.status < 500 || response.status === 501) log.info(line, "request.handled");
    else log.error({ ...line, err: fault }, "request.failed");
    return response;
  }

  async function respond(
    request: Request,
    path: string | undefined,
    route: Route | undefined,
  ): Promise<Outcome> {
    const refusal = (status: number, message: string, headers: Record<string, string> = {}): Outcome => ({
      response:
        application.refuse?.(path ?? "", status, message, headers) ??
        Response.json(refusalBody(message), { status, headers }),
    });
    // HTTP/1.0 without a host, a host that is none, the target of a proxy request, a fragment: nothing to build on.
    if (path === undefined) return refusal(400, "The request's address or Host is not valid.");
    // The framework's own router is looser: it takes an address with a slash at its end, which is what `…/..` leaves
    // of another one, for the address without it.
    if (!route) return refusal(404, "There is nothing at this address.");
    if (!route.methods.includes(request.method)) {
      const allow = route.methods.join(", ");
      if (request.method === "OPTIONS")
        return { response: new Response(null, { status: 204, headers: { allow } }) };
      return refusal(405, `This address takes ${allow}, not ${request.method}.`, { allow });
    }
    // Of the answer to HEAD the server sends the headers alone, with the length that the body has.
    const handled = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request;
    try {
      const response = await application.fetch(handled);
      return { response, fault: faultOf(handled) };
    } catch (error) {
      return { ...refusal(500, faultMessage), fault: error };
    }
  }

  return Bun.serve({
    hostname: address.host,
    port: address.port,
    idleTimeout: idleTimeoutSeconds,
    // Whoever reads a body bounds it, and refuses in JSON what is too long; Bun would do so without a word. A body that
    // nobody reads is not kept.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    // In development Bun would answer a fault with a page that shows the source.
    development: false,
    fetch: answer,
  });
}

function pathOf(request: Request): string | undefined {
  return /^https?:[^#]*$/.test(request.url) ? URL.parse(request.url)?.pathname : undefined;
}
