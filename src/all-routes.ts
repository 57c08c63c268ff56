import { Elysia } from "elysia";
import type { Config } from "./config.ts";
import { ingestRoutes } from "./api/incoming-webhooks.ts";
import { errorResponse as scimErrorResponse } from "./scim/responses.ts";
import { directoryPath, type ScimAccess, scimRoutes } from "./scim/routes.ts";
import { type ApiContext, apiRoutes } from "./api/api.ts";
import { fastPaths } from "./http/fast-path.ts";
import { type DocumentedSettings, documentationRoutes, frontPage } from "./openapi/documentation.ts";
import type { Readiness } from "./health/readiness.ts";
import { healthRoutes } from "./http/health.ts";
import { elysiaErrorResponse } from "./http/error-responses.ts";
import type { Application } from "./http/server.ts";

/**
 * Puts all routes of the server together. With the integrations switched off their routes do not exist (specification
 * part 1, master switch); those of the directory exist when it has a token (part 4, other endpoints).
 */
export function allRoutes(
  context: ApiContext & { readiness: Readiness },
  config: Pick<Config, "integrationsEnabled"> & DocumentedSettings,
  directory?: ScimAccess,
): Application {
  // By default Elysia assumes that the path starts at the 11th character or later; hosts may be shorter (`http://x/`).
  const root = new Elysia({ normalize: false, handler: { standardHostname: false } });
  // Before the onError hook, which applies to all routes added after it: SCIM's errors have a form of their own.
  if (directory) root.use(scimRoutes(context, directory));
  root
    .onError(({ error, request, set }) => elysiaErrorResponse(error, request, set.headers))
    .use(healthRoutes(context.database, context.readiness));
  const served = config.integrationsEnabled ? [apiRoutes(context), ingestRoutes(context)] : [];
  for (const routes of served) root.use(routes);
  if (config.integrationsEnabled) root.use(documentationRoutes(config)).use(frontPage());
  const ofDirectory = (path: string) => (directory ? directoryPath(path) : undefined);
  return {
    fetch: (request) => root.fetch(request),
    routes: root.routes,
    fastPaths: fastPaths(served.flatMap(({ routes }) => routes)),
    errorResponse: (path, status, message, headers) =>
      ofDirectory(path) === undefined ? undefined : scimErrorResponse(status, message, { headers }),
    canonicalPath: ofDirectory,
  };
}
