import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Authentication } from "../http/authentication.ts";
import {
  contract,
  dataOf,
  errorResponseBecause,
  errorResponses,
  errorResponsesOfInput,
  errorResponsesOfParameter,
  nothing,
  parameterContract,
} from "../http/contract.ts";
import { DeliveriesQuery, DeliveryPage, listAttemptPage } from "../deliveries/attempt-pages.ts";
import type { Feed } from "../feed/feed.ts";
import { EventPage, EventsQuery } from "../feed/schemas.ts";
import { callerOf } from "../http/caller.ts";
import { actorOf } from "../subject.ts";
import {
  CreatedSubscription,
  SubscriptionEdit,
  SubscriptionInput,
  WebhookSubscription,
  WebhookSubscriptionWithDeliveries,
} from "../subscriptions/schemas.ts";
import { editSubscription } from "../subscriptions/edit.ts";
import { showSubscription } from "../deliveries/subscription-with-attempts.ts";
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  type SubscriptionParts,
} from "../subscriptions/subscriptions.ts";
import { workOf } from "../tracing/request-work.ts";

const cursorGone = errorResponseBecause(
  "Events after the cursor were deleted because they are too old, or the cursor is from another copy of the data.",
  "Events after this cursor have been deleted, because they are too old. Leave out `after` to go on with the oldest " +
    "event that is stored, and read what may have been missed from the channels.",
);

/** What the events of subscriptions are read with. */
export type FeedParts = {
  feed: Feed;
  /** Lets the connection of the request be silent for so many seconds. */
  allowSilence: (request: Request, seconds: number) => void;
};

/** `/webhooks` (specification part 4, outgoing-webhook subscriptions). */
export function subscriptionRoutes({
  authentication,
  feed,
  allowSilence,
  ...parts
}: SubscriptionParts & FeedParts & { authentication: Authentication }) {
  const { database } = parts;
  return new Elysia({ prefix: "/webhooks", tags: ["Outgoing webhooks"] })
    .use(authentication)
    .get(
      "",
      async ({ subject }) => ({ data: await database.ask((db) => listSubscriptions(db, subject.teamId)) }),
      {
        scope: "webhooks:read",
        detail: {
          operationId: "listSubscriptions",
          summary: "List subscriptions",
          description: "The subscriptions of the token's workspace, newest first.",
        },
        response: {
          200: contract(
            "WebhookSubscriptionList",
            dataOf(Type.Array(WebhookSubscription)),
            "The subscriptions.",
          ),
          ...errorResponses,
        },
      },
    )
    .post(
      "",
      async ({ request, readInput, status }) => {
        const { subject, input } = await readInput();
        const { teamId } = subject;
        const work = workOf(request);
        return status(201, await createSubscription(parts, teamId, input, actorOf(subject), { work }));
      },
      {
        scope: "webhooks:write",
        parse: "none",
        detail: {
          operationId: "createSubscription",
          summary: "Create a subscription",
          description:
            "The response holds the signing secret, which is never shown again. In a workspace at its maximum " +
            "number of subscriptions (1,000, unless the operator has set another limit), the response is 422 on `url`.",
        },
        body: contract("SubscriptionInput", SubscriptionInput),
        response: {
          201: contract("CreatedSubscription", CreatedSubscription, "The new subscription and its secret."),
          ...errorResponsesOfInput,
        },
      },
    )
    .get(
      "/:subscription",
      async ({ subject, params }) => ({
        data: await database.ask((db) => showSubscription(db, subject.teamId, params.subscription)),
      }),
      {
        scope: "webhooks:read",
        detail: {
          operationId: "getSubscription",
          summary: "Show a subscription",
          description: "Includes its 20 latest delivery attempts.",
        },
        response: {
          200: contract(
            "WebhookSubscriptionShown",
            dataOf(WebhookSubscriptionWithDeliveries),
            "The subscription and its attempts.",
          ),
          ...errorResponses,
        },
      },
    )
    .get(
      "/:subscription/deliveries",
      async ({ subject, params, query }) =>
        await database.ask((db) => listAttemptPage(db, subject.teamId, params.subscription, query)),
      {
        scope: "webhooks:read",
        detail: {
          operationId: "listDeliveries",
          summary: "List delivery attempts",
          description:
            "The subscription's delivery log, newest first. Attempts are kept for 30 days by default.",
        },
        query: parameterContract(DeliveriesQuery),
        response: {
          200: contract("DeliveryPage", DeliveryPage, "One page of the attempts."),
          ...errorResponsesOfParameter,
        },
      },
    )
    .get(
      "/:subscription/events",
      async ({ request, subject, params, query, requireStillValid }) => {
        const reader = {
          teamId: subject.teamId,
          tokenId: callerOf(request)?.token_id ?? "",
          signal: request.signal,
          // Longer than the wait, so that the answer is sent first.
          beSilentFor: (ms: number) => allowSilence(request, Math.ceil(ms / 1000) + 10),
          requireStillValid,
        };
        return await feed.read(reader, params.subscription, query);
      },
      {
        scope: "webhooks:write",
        detail: {
          operationId: "listEvents",
          summary: "Read events",
          description:
            "The events that the subscription matches, oldest first, from a cursor on: those that were delivered, those " +
            "that were not, and those that still will be. Events are kept as long " +
            "as delivery attempts are, and at most as far back as the subscription was created. Needs the scope that " +
            "creates subscriptions, because it shows what they are sent.",
        },
        query: parameterContract(EventsQuery),
        response: {
          200: contract("EventPage", EventPage, "The next events, and where to go on."),
          ...errorResponsesOfParameter,
          410: cursorGone,
        },
      },
    )
    .patch(
      "/:subscription",
      async ({ request, params, readInput }) => {
        const { subject, input } = await readInput();
        const { teamId } = subject;
        const actor = actorOf(subject);
        const edited = await editSubscription(
          parts,
          teamId,
          params.subscription,
          input,
          actor,
          workOf(request),
        );
        return { data: { ...edited, created_by: undefined } };
      },
      {
        scope: "webhooks:write",
        parse: "none",
        detail: {
          operationId: "editSubscription",
          summary: "Edit a subscription",
          description:
            "Fields that are left out stay as they are; `channel_ids: null` stands for the whole workspace. The secret, " +
            "the log and the waiting events stay. Waiting events go to a new `url` from their next attempt on.",
        },
        body: contract("SubscriptionEdit", SubscriptionEdit),
        response: {
          200: contract("WebhookSubscriptionData", dataOf(WebhookSubscription), "The subscription."),
          ...errorResponsesOfInput,
        },
      },
    )
    .delete(
      "/:subscription",
      async ({ request, subject, params, status }) => {
        await database.write(
          (tx) => deleteSubscription(tx, subject.teamId, params.subscription, actorOf(subject)),
          workOf(request),
        );
        return status(204, undefined);
      },
      {
        scope: "webhooks:write",
        parse: "none",
        detail: {
          operationId: "deleteSubscription",
          summary: "Delete a subscription",
          description: "Parley sends nothing to it from then on.",
        },
        response: { 204: nothing, ...errorResponses },
      },
    );
}
