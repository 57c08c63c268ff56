import { Elysia } from "elysia";
import { channelRoutes } from "../channels/routes.ts";
import type { Database } from "../database/open.ts";
import { memberRoutes } from "../members/routes.ts";
import { messageRoutes } from "../messages/routes.ts";
import type { AddressGuard } from "../deliveries/address-guard.ts";
import type { Log } from "../log.ts";
import { reactionRoutes } from "../reactions/routes.ts";
import type { Vault } from "../secrets/vault.ts";
import { subscriptionRoutes } from "../subscriptions/routes.ts";
import { authentication } from "./authentication.ts";
import type { RateLimit } from "./rate-limit.ts";
import { refusalAnswer } from "./refusals.ts";

/** What the routes are built from. */
export type ApiContext = {
  database: Database;
  vault: Vault;
  guard: AddressGuard;
  log: Log;
  authentication: ReturnType<typeof authentication>;
  ingestRateLimit: RateLimit;
  /** The address under which the world reaches the server, without a slash at the end. */
  baseUrl: () => string;
};

/** Every route under `/api/v1`. Its type is what a typed client is made from. */
export function apiRoutes(context: ApiContext) {
  // Hosts may be short (`http://x/`): without this Elysia takes the path from the 11th character on.
  return new Elysia({ prefix: "/api/v1", normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request, set }) => refusalAnswer(error, request, set.headers))
    .use(channelRoutes(context))
    .use(messageRoutes(context))
    .use(reactionRoutes(context))
    .use(memberRoutes(context))
    .use(subscriptionRoutes(context));
}

export type ApiRoutes = ReturnType<typeof apiRoutes>;
