import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Authentication } from "../http/authentication.ts";
import { contract, dataOf, nothing, errorResponses, errorResponsesOfInput } from "../http/contract.ts";
import { actorOf } from "../subject.ts";
import {
  CreatedSubscription,
  SubscriptionInput,
  WebhookSubscription,
  WebhookSubscriptionWithDeliveries,
} from "../subscriptions/schemas.ts";
import { showSubscription } from "../deliveries/subscription-with-attempts.ts";
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  type SubscriptionParts,
} from "../subscriptions/subscriptions.ts";
import { workOf } from "../tracing/request-work.ts";

/** `/webhooks` (specification part 4, outgoing-webhook subscriptions). */
export function subscriptionRoutes({
  authentication,
  ...parts
}: SubscriptionParts & { authentication: Authentication }) {
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
        return status(201, await createSubscription(parts, teamId, input, actorOf(subject), work));
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
