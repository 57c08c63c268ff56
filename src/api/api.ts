import { Elysia } from "elysia";
import { channelRoutes } from "./channels.ts";
import { memberRoutes } from "./members.ts";
import { messageRoutes } from "./messages.ts";
import { reactionRoutes } from "./reactions.ts";
import type { SubscriptionParts } from "../subscriptions/subscriptions.ts";
import type { IngestParts } from "./incoming-webhooks.ts";
import { type FeedParts, subscriptionRoutes } from "./subscriptions.ts";
import type { Authentication } from "../http/authentication.ts";
import { elysiaErrorResponse } from "../http/error-responses.ts";

/** The parts that the routes use. */
export type ApiContext = SubscriptionParts &
  FeedParts &
  IngestParts & {
    authentication: Authentication;
    /** The public URL of the server, without a trailing slash. */
    baseUrl: () => string;
  };

/** Every route under `/api/v1`. */
export function apiRoutes(context: ApiContext) {
  // By default Elysia assumes that the path starts at the 11th character or later; hosts may be shorter (`http://x/`).
  return new Elysia({ prefix: "/api/v1", normalize: false, handler: { standardHostname: false } })
    .onError(({ error, request, set }) => elysiaErrorResponse(error, request, set.headers))
    .use(channelRoutes(context))
    .use(messageRoutes(context))
    .use(reactionRoutes(context))
    .use(memberRoutes(context))
    .use(subscriptionRoutes(context));
}

/** The type of the routes and their responses, from which a typed client is made. */
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
 * Elysia adds a 422 of its own validation to every route with a schema. Our schemas let everything through (see
 * `contract`), so this type keeps declared ones only.
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
