import { Kind } from "@sinclair/typebox";
import { parseQueryFromURL } from "elysia/parse-query";
import { errorResponseOf } from "./error-responses.ts";

/**
 * Responds to a request of one route, given the segments of its path. `headers` go onto the response. Never rejects:
 * an error becomes an error response.
 */
export type Respond = (
  request: Request,
  segments: string[],
  headers: Headers,
) => Response | Promise<Response>;

type Headers = Record<string, string>;

/** A route as the framework registered it. */
type RegisteredRoute = { method: string; path: string; handler: unknown; hooks: { [name: string]: unknown } };

type Hook = { fn: unknown; subType?: string };

/** The parts of the framework's context that handlers use when they read their own body. */
type Context = {
  request: Request;
  params: Record<string, string>;
  /** Empty where the route declares no query. */
  query: Record<string, unknown>;
  set: { headers: Headers };
  status: (code: number, body: unknown) => StatusResult;
};

type Step = (context: Context) => unknown;

/** What runs for a route: the steps add to the context, then the handler returns the result. */
type Plan = { steps: readonly Step[]; handle: Step; hasQuery: boolean };

/** A handler's result with a status other than 200. The framework's own costs a microsecond more. */
class StatusResult {
  readonly status: number;
  readonly body: unknown;
  constructor(status: number, body: unknown) {
    this.status = status;
    this.body = body;
  }
}

const status = (code: number, body: unknown) => new StatusResult(code, body);

/**
 * Returns the fast paths, by method and path (`POST /api/v1/channels`), of the routes that read their own body
 * (`parse: "none"`). They run a route's steps and handler without the framework around them, which saves a seventh of
 * the time that posting a message takes.
 * @throws Error when such a route needs more of the framework than a fast path gives.
 */
export function fastPaths(routes: readonly RegisteredRoute[]): Map<string, Respond> {
  return new Map(
    routes.flatMap((route): Array<[string, Respond]> => {
      const plan = planOf(route);
      return plan === undefined ? [] : [[`${route.method} ${route.path}`, fastPath(route.path, plan)]];
    }),
  );
}

/**
 * Holds every assumption about the framework (Elysia 1.4). One cannot be checked: `onError` is `elysiaErrorResponse`,
 * which sends what `errorResponseOf` returns. The tests compare the responses of both paths.
 * @throws Error that names the assumption, at startup: an upgrade must not quietly skip a hook or lose the fast path.
 */
function planOf({ method, path, handler, hooks }: RegisteredRoute): Plan | undefined {
  const parsers = hooksNamed("parse");
  if (!parsers.some(({ fn }) => fn === "none")) return undefined;

  assume(parsers.length === 1, "nothing else parses its body");
  assume(typeof handler === "function", "its handler is a function of the context");
  const before = hooksNamed("beforeHandle");
  assume(
    before.every(({ fn, subType }) => typeof fn === "function" && subType === "resolve"),
    "each hook before the handler is a resolve, whose result is added to the context",
  );
  for (const hook of ["transform", "afterHandle", "mapResponse", "afterResponse", "trace"])
    assume(hooksNamed(hook).length === 0, `it has no ${hook} hook`);
  for (const part of ["params", "cookie"])
    assume(hooks[part] === undefined, `it declares no ${part}, which would have to be parsed`);
  const schemas = [hooks.body, hooks.query, hooks.headers, ...Object.values(hooks.response ?? {})];
  assume(schemas.every(letsEverythingThrough), "its schemas validate nothing (see contract)");
  return {
    steps: before.map(({ fn }) => fn as Step),
    handle: handler as Step,
    hasQuery: hooks.query !== undefined,
  };

  function hooksNamed(name: string): Hook[] {
    return (hooks[name] ?? []) as Hook[];
  }

  function assume(holds: boolean, assumption: string): void {
    if (!holds) throw new Error(`${method} ${path} cannot take the fast path, which assumes: ${assumption}.`);
  }
}

function letsEverythingThrough(schema: unknown): boolean {
  return schema === undefined || (schema as { [Kind]?: string })[Kind] === "Any";
}

function fastPath(path: string, { steps, handle, hasQuery }: Plan): Respond {
  const parameters = path
    .split("/")
    .flatMap((part, at) => (part.startsWith(":") ? [[part.slice(1), at] as const] : []));

  // No async functions here: each one that a request passes through costs half a microsecond.
  const run = (context: Context, next = 0): unknown => {
    for (let n = next; n < steps.length; n++) {
      const added = steps[n]?.(context);
      if (added instanceof Promise) {
        return added.then((later: object) => run(Object.assign(context, later), n + 1));
      }
      Object.assign(context, added);
    }
    return handle(context);
  };

  return (request, segments, headers) => {
    const params: Record<string, string> = {};
    for (const [name, at] of parameters) params[name] = decoded(segments[at] ?? "");
    const failed = (error: unknown) => {
      const { status, body, headers: added } = errorResponseOf(error, request);
      return responseOf(new StatusResult(status, body), Object.assign(headers, added));
    };
    const finished = (result: unknown): Response | Promise<Response> => {
      try {
        return result instanceof Promise ? result.then(finished, failed) : responseOf(result, headers);
      } catch (error) {
        return failed(error);
      }
    };
    try {
      const query = hasQuery ? queryOf(request.url) : {};
      return finished(run({ request, params, query, set: { headers }, status }));
    } catch (error) {
      return failed(error);
    }
  };
}

function queryOf(url: string): Record<string, unknown> {
  const start = url.indexOf("?");
  return start === -1 ? {} : parseQueryFromURL(url, start + 1);
}

function decoded(segment: string): string {
  return segment.includes("%") ? decodeURIComponent(segment) : segment;
}

function responseOf(result: unknown, headers: Headers): Response {
  if (result instanceof Response) return new Response(result.body, { status: result.status, headers });
  if (!(result instanceof StatusResult)) return Response.json(result, { headers });
  return result.body === undefined
    ? new Response(null, { status: result.status, headers })
    : Response.json(result.body, { status: result.status, headers });
}
