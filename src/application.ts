import { Elysia } from "elysia";
import type { Config } from "./config.ts";
import { ingestRoutes } from "./api/incoming-webhooks.ts";
import { errorResponse as scimRefusal } from "./scim/answers.ts";
import { directoryPath, type ScimAccess, scimRoutes } from "./scim/routes.ts";
import { type ApiContext, apiRoutes } from "./api/api.ts";
import { fastPaths } from "./http/fast-path.ts";
import { documentationRoutes } from "./openapi/documentation.ts";
import { healthRoutes } from "./http/health.ts";
import { elysiaErrorResponse } from "./http/error-responses.ts";
import type { Application } from "./http/server.ts";

/**
 * Everything that the server answers. With the integrations switched off their addresses do not exist (specification
 * part 1, master switch); those of the directory exist when there is a token for it (part 4, other endpoints).
 */
export function application(
  context: ApiContext,
  config: Pick<Config, "integrationsEnabled" | "baseUrl">,
  directory?: ScimAccess,
): Application {
  // Hosts may be short (`http://x/`): without this Elysia takes the path from the 11th character on.
  const root = new Elysia({ normalize: false, handler: { standardHostname: false } });
  // Its refusals have a form of their own: it stands before the hook, which is for all that comes after.
  if (directory) root.use(scimRoutes(context, directory));
  root
    .onError(({ error, request, set }) => elysiaErrorResponse(error, request, set.headers))
    .use(healthRoutes(context.database));
  const served = config.integrationsEnabled ? [apiRoutes(context), ingestRoutes(context)] : [];
  for (const routes of served) root.use(routes);
  if (config.integrationsEnabled) root.use(documentationRoutes(config.baseUrl || undefined));
  const ofDirectory = (path: string) => (directory ? directoryPath(path) : undefined);
  return {
    fetch: (request) => root.fetch(request),
    routes: root.routes,
    direct: fastPaths(served.flatMap(({ routes }) => routes)),
    refuse: (path, status, message, headers) =>
      ofDirectory(path) === undefined ? undefined : scimRefusal(status, message, { headers }),
    meant: ofDirectory,
  };
}
