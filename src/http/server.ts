import type { Log } from "../log.ts";
import { faultOf, refusalBody } from "./refusals.ts";
import { type Route, routeTable } from "./route-table.ts";

/** What answers requests, with the routes that it knows. */
export type Application = {
  fetch: (request: Request) => Response | Promise<Response>;
  routes: ReadonlyArray<{ method: string; path: string }>;
};

/** Slow senders and idle connections are closed after about so long. */
const idleTimeoutSeconds = 10;

/**
 * Serves the application. Every answer, whatever it is, carries `X-Request-Id` and leaves one log line; an address
 * that is there for other methods answers 405 with `Allow`.
 * @throws the operating system's error when the address is taken or not ours.
 */
export function startServer(application: Application, log: Log, address: { host: string; port: number }) {
  const findRoute = routeTable(application.routes);

  async function answer(request: Request): Promise<Response> {
    const startedAt = performance.now();
    const id = Bun.randomUUIDv7();
    const path = pathOf(request);
    const route = path === undefined ? undefined : findRoute(path);
    const response = path === undefined ? unusableAddress() : await respond(request, route);
    response.headers.set("x-request-id", id);
    response.headers.set("x-content-type-options", "nosniff");
    const fault = faultOf(request);
    const line = {
      request_id: id,
      method: request.method,
      route: route?.path,
      status: response.status,
      duration_ms: Math.round((performance.now() - startedAt) * 100) / 100,
    };
    if (fault === undefined) log.info(line, "request.handled");
    else log.error({ ...line, err: fault }, "request.failed");
    return response;
  }

  async function respond(request: Request, route: Route | undefined): Promise<Response> {
    if (route && !route.methods.includes(request.method)) return wrongMethod(request.method, route.methods);
    if (request.method !== "HEAD") return await application.fetch(request);
    const { status, headers } = await application.fetch(new Request(request, { method: "GET" }));
    return new Response(null, { status, headers });
  }

  return Bun.serve({
    hostname: address.host,
    port: address.port,
    idleTimeout: idleTimeoutSeconds,
    fetch: answer,
    error: () => Response.json(refusalBody("Something went wrong on our side."), { status: 500 }),
  });
}

function wrongMethod(method: string, methods: string[]): Response {
  const allow = methods.join(", ");
  if (method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  const body = refusalBody(`This address takes ${allow}, not ${method}.`);
  return Response.json(body, { status: 405, headers: { allow } });
}

// HTTP/1.0 without a host, a host that is none, the target of a proxy request: nothing to build on.
function unusableAddress(): Response {
  return Response.json(refusalBody("The request's address or Host is not valid."), { status: 400 });
}

function pathOf(request: Request): string | undefined {
  return /^https?:/.test(request.url) && URL.canParse(request.url) ? new URL(request.url).pathname : undefined;
}
