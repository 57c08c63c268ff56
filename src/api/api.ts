import { Elysia } from "elysia";
import { channelRoutes } from "./channels.ts";
import { memberRoutes } from "./members.ts";
import { messageRoutes } from "./messages.ts";
import { reactionRoutes } from "./reactions.ts";
import type { SubscriptionParts } from "../subscriptions/subscriptions.ts";
import type { IngestParts } from "./incoming-webhooks.ts";
import { subscriptionRoutes } from "./subscriptions.ts";
import type { Authentication } from "../http/authentication.ts";
import { elysiaErrorResponse } from "../http/error-responses.ts";

/** What the routes are built from. */
export type ApiContext = SubscriptionParts &
  IngestParts & {
    authentication: Authentication;
    /** The address under which the world reaches the server, without a slash at the end. */
    baseUrl: () => string;
  };

/** Every route under `/api/v1`. */
export function apiRoutes(context: ApiContext) {
  // Hosts may be short (`http://x/`): without this Elysia takes the path from the 11th character on.
  return new Elysia({ prefix: "/api/v1", normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request, set }) => elysiaErrorResponse(error, request, set.headers))
    .use(channelRoutes(context))
    .use(messageRoutes(context))
    .use(reactionRoutes(context))
    .use(memberRoutes(context))
    .use(subscriptionRoutes(context));
}

/** What a typed client is made from: the type of the routes, with the answers that they give. */
export type ApiRoutes =
  ReturnType<typeof apiRoutes> extends Elysia<
    infer Prefix,
    infer Singleton,
    infer Definitions,
    infer Metadata,
    infer Routes,
    infer Ephemeral,
    infer Volatile
  >
    ? Elysia<Prefix, Singleton, Definitions, Metadata, AsAnswered<Routes>, Ephemeral, Volatile>
    : never;

/**
 * Elysia gives every route that has a schema a 422 of its own, for what its validation refuses. Ours refuses nothing,
 * because the schemas that it is given let everything through (see `contract`), so only a declared 422 is left.
 */
type AsAnswered<Routes> = {
  [Key in keyof Routes]: Routes[Key] extends { response: infer Answers }
    ? Omit<Routes[Key], "response"> & { response: WithoutOwn422<Answers> }
    : AsAnswered<Routes[Key]>;
};

type WithoutOwn422<Answers> = {
  [
    Status in keyof Answers as Answers[Status] extends { type: "validation" } ? never : Status
  ]: Answers[Status];
};
