import { Elysia } from "elysia";
import type { Config } from "./config.ts";
import type { Database } from "./database/open.ts";
import { apiRoutes } from "./http/api.ts";
import { authentication } from "./http/authentication.ts";
import { healthRoutes } from "./http/health.ts";
import { RateLimit } from "./http/rate-limit.ts";
import { refusalAnswer } from "./http/refusals.ts";
import { startServer } from "./http/server.ts";
import type { Log } from "./log.ts";

/** A running server. */
export type RunningApp = {
  /** Where it listens, with the port that the system gave. */
  url: string;
  /** Takes no new request, lets those under way finish, then returns. The database stays open. */
  stop(): Promise<void>;
};

/**
 * Puts the parts together and serves them. This is the only place that knows them all.
 * @throws the operating system's error when the address is taken.
 */
export function startApp({ config, database, log }: { config: Config; database: Database; log: Log }): RunningApp {
  let listening = "";
  const context = {
    database,
    authentication: authentication(database, new RateLimit(config.apiRateLimit)),
    baseUrl: () => config.baseUrl || listening,
  };
  const root = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request, set }) => refusalAnswer(error, request, set.headers))
    .use(healthRoutes(database));
  // Switched off, the platform's addresses do not exist.
  if (config.integrationsEnabled) root.use(apiRoutes(context));

  const server = startServer(root, log, config);
  listening = `http://${urlHost(config.host)}:${server.port}`;
  return {
    url: listening,
    stop: async () => await server.stop(),
  };
}

/** How the address that the server listens on is called from this machine. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "127.0.0.1") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
