import { Elysia } from "elysia";
import type { Config } from "../config.ts";
import { ingestRoutes } from "../incoming-webhooks/routes.ts";
import { type ApiContext, apiRoutes } from "./api.ts";
import { documentationRoutes } from "./documentation.ts";
import { healthRoutes } from "./health.ts";
import { refusalAnswer } from "./refusals.ts";

/**
 * Everything that the server answers. With the integrations switched off their addresses do not exist, and only
 * `/healthz` is left (specification part 1, master switch).
 */
export function application(context: ApiContext, config: Pick<Config, "integrationsEnabled" | "baseUrl">) {
  // Hosts may be short (`http://x/`): without this Elysia takes the path from the 11th character on.
  const root = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request, set }) => refusalAnswer(error, request, set.headers))
    .use(healthRoutes(context.database));
  if (config.integrationsEnabled) {
    root
      .use(apiRoutes(context))
      .use(ingestRoutes(context))
      .use(documentationRoutes(config.baseUrl || undefined));
  }
  return root;
}
