import { type Static, Type } from "@sinclair/typebox";
import type { Connection } from "../database/database.ts";
import { invalid } from "../errors.ts";
import { checkOf, Nullable, Text, WholeNumber } from "../input/validation.ts";
import { WebhookDelivery } from "../subscriptions/schemas.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { deliveryResource } from "./attempt-log.ts";
import { selectAttemptsOf } from "./attempt-store.ts";

const attemptsByDefault = 50;

/** The query of `GET /webhooks/{subscription}/deliveries`. */
export const DeliveriesQuery = Type.Object({
  after: Type.Optional(
    Text({
      maxLength: 11,
      minLength: 1,
      description: "The `next` of the page before. Omitted, the newest come first.",
    }),
  ),
  limit: Type.Optional(
    WholeNumber({
      minimum: 1,
      maximum: 200,
      default: attemptsByDefault,
      description: "The maximum number of attempts.",
    }),
  ),
});

/** A page of a subscription's delivery attempts. */
export const DeliveryPage = Type.Object({
  data: Type.Array(WebhookDelivery),
  meta: Type.Object({
    next: Nullable(Type.String({ description: "The cursor of the next page; null on the last." })),
  }),
});
export type DeliveryPage = Static<typeof DeliveryPage>;

const checkQuery = checkOf(DeliveriesQuery);

const cursor = /^[0-9a-z]+$/;

/**
 * Returns a page of the subscription's delivery attempts, newest first. Every page costs the same.
 * @throws DomainError `not_found`; `invalid` on a parameter.
 */
export async function listAttemptPage(
  db: Connection,
  teamId: string,
  id: string,
  query: unknown,
): Promise<DeliveryPage> {
  const subscription = await getSubscription(db, teamId, id);
  const { after, limit: asked } = checkQuery(query);
  const limit = Number(asked ?? attemptsByDefault);
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : Number.parseInt(after, 36);
  if (after !== undefined && !(cursor.test(after) && Number.isSafeInteger(before)))
    throw invalid({ after: ["The after field must be the cursor of an earlier page."] });
  // One more than is shown, to see whether there are more.
  const rows = await selectAttemptsOf(db, subscription.id, { before, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { data: shown.map(deliveryResource), meta: { next: last ? last.seq.toString(36) : null } };
}
