import { type Static, Type } from "@sinclair/typebox";
import { webhookEvents } from "../event-types.ts";
import { Nullable, OneOf, Text, Uuid } from "../input/validation.ts";
import { headersMax, valueMax } from "./header-rules.ts";

const time = Nullable(Type.String({ format: "date-time" }));

/** A subscription as the API returns it; neither the signing secret nor the value of a header is part of it. */
export const WebhookSubscription = Type.Object(
  {
    id: Uuid(),
    name: Type.String(),
    url: Nullable(Type.String({ format: "uri", description: "Null if it was created with `pull`." })),
    events: Type.Array(OneOf(webhookEvents)),
    channel_ids: Nullable(Type.Array(Uuid(), { description: "Null means the whole workspace." })),
    header_names: Type.Array(Type.String(), {
      description: "The headers of one's own, in lower case. Their values are never shown.",
    }),
    status: OneOf(["active", "disabled"]),
    consecutive_failures: Type.Integer({ minimum: 0 }),
    last_success_at: time,
    disabled_at: time,
    created_at: time,
  },
  { $id: "WebhookSubscription" },
);
export type WebhookSubscription = Static<typeof WebhookSubscription>;

/** A subscription as the command line shows it. */
export type ListedSubscription = WebhookSubscription & { created_by: string };

/** A delivery attempt as the API returns it (specification part 2). */
export const WebhookDelivery = Type.Object(
  {
    id: Uuid(),
    event_type: OneOf(webhookEvents),
    event_id: Uuid(),
    succeeded: Type.Boolean(),
    response_status: Nullable(
      Type.Integer({ description: "The receiver's HTTP status; null when the request never completed." }),
    ),
    error: Nullable(Type.String()),
    created_at: time,
  },
  { $id: "WebhookDelivery" },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/** A subscription with its latest attempts. */
export const WebhookSubscriptionWithDeliveries = Type.Object({
  ...WebhookSubscription.properties,
  deliveries: Type.Array(WebhookDelivery, { description: "The 20 latest attempts, newest first." }),
});

/** The response to `POST /webhooks`, the only one that contains the signing secret. */
export const CreatedSubscription = Type.Object({
  data: WebhookSubscription,
  secret: Type.String({ description: "The signing secret. It is shown here once and never again." }),
});

/** The maximum number of channels that a subscription can list; for more, subscribe to the whole workspace. */
const channelsMax = 1_000;

const url = Text({
  maxLength: 2048,
  minLength: 1,
  format: "uri",
  description: "A publicly reachable http or https address.",
});

const common = {
  events: Type.Array(OneOf(webhookEvents), { minItems: 1, maxItems: 100 }),
  channel_ids: Type.Optional(
    Nullable(
      Type.Array(Uuid(), {
        minItems: 1,
        maxItems: channelsMax,
        description: "Channels of this workspace; omitted or null for all.",
      }),
    ),
  ),
};

/** Headers of one's own. `checkedHeaders` judges them: an error must not quote what it is about. */
function Headers<Value extends string | null>(schema: object, description: string) {
  const properties = Type.Unknown(schema);
  return Type.Optional(
    Nullable(
      Type.Unsafe<Record<string, Value>>(Type.Object({}, { additionalProperties: properties, description })),
    ),
  );
}

const headerValue = { type: "string", minLength: 1, maxLength: valueMax };

const headers = Headers<string>(
  headerValue,
  `Headers to send with each request, such as one that the receiver asks for, at most ${headersMax}. Values are ` +
    "stored encrypted and never shown again.",
);

const headersEdit = Headers<string | null>(
  { ...headerValue, type: ["string", "null"] },
  "Headers to set, or with null to remove; others stay. Null in place of the object removes all. With a `url` at " +
    "another host, each header that stays has to be given again.",
);

const name = Text({ maxLength: 255, minLength: 1, isName: true });

const pull = Type.Optional(
  Type.Boolean({
    description:
      "True, with `url` null or omitted, if events are not to be sent, but read with `listEvents`.",
  }),
);

/** The body of `POST /webhooks` (specification part 4). */
export const SubscriptionInput = Type.Object({
  name,
  url: Nullable(url),
  ...common,
  headers,
  pull,
});
export type SubscriptionInput = Static<typeof SubscriptionInput>;

/** The body without `pull`: as the specification has it. */
export const SentSubscriptionInput = Type.Object({ name, url, ...common, headers, pull });

/** The body with `pull`. */
export const PulledSubscriptionInput = Type.Object({
  name,
  url: Type.Optional(Type.Null()),
  ...common,
  headers: Type.Optional(Type.Null()),
  pull,
});

/** The body of `PATCH /webhooks/{subscription}`: what it leaves out stays as it is. */
export const SubscriptionEdit = Type.Partial(Type.Object({ name, url, ...common, headers: headersEdit }));
export type SubscriptionEdit = Static<typeof SubscriptionEdit>;
