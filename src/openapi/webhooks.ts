import { type TSchema, Type } from "@sinclair/typebox";
import { deliverySignature, standardSignature } from "../deliveries/signature.ts";
import { type WebhookEvent, webhookEvents } from "../event-types.ts";
import { MemberAdded } from "../members/schemas.ts";
import { ReactionAdded } from "../reactions/schemas.ts";
import { Message } from "../messages/schemas.ts";
import { Uuid } from "../input/validation.ts";
import type { Operation, Parameter, PathItem, Schema } from "./document.ts";
import { eventExamples, exampleCursor, exampleIds, exampleSecret } from "./examples.ts";
import { finishedSchema } from "./schemas.ts";

/** When each event fires, and what its envelope holds as `data` (specification part 6). */
const events: Record<WebhookEvent, { firesWhen: string; data: TSchema }> = {
  "message.created": { firesWhen: "A message is posted to a channel.", data: Message },
  "message.updated": { firesWhen: "A message is edited.", data: Message },
  "message.deleted": { firesWhen: "A message is deleted. Its body is empty from then on.", data: Message },
  "reaction.added": { firesWhen: "A reaction is added to a message.", data: ReactionAdded },
  "channel.member_added": { firesWhen: "A member is added to a channel.", data: MemberAdded },
};

/** When the examples were sent. */
const sentAtSeconds = 1_795_195_440;

const responses: Operation["responses"] = {
  "2XX": { description: "Delivered." },
  default: {
    description:
      "Any other outcome is a failed attempt, including redirects and timeouts; the same envelope is " +
      "retried with exponential backoff.",
  },
};

/** Returns the requests that the server sends to subscriptions, by event type; adds the envelopes to `schemas`. */
export function deliveries(schemas: Map<string, Schema>): Record<string, PathItem> {
  return Object.fromEntries(webhookEvents.map((event) => [event, { post: delivery(event, schemas) }]));
}

/** Returns a made-up envelope of the event, and when it fires. */
export function sampleOf(event: WebhookEvent): { firesWhen: string; envelope: object } {
  const created_at = "2026-11-20T17:24:00.125+00:00";
  const envelope = { id: exampleIds.event, type: event, created_at, data: eventExamples[event] };
  return { firesWhen: events[event].firesWhen, envelope };
}

function delivery(event: WebhookEvent, schemas: Map<string, Schema>): Operation {
  const { data } = events[event];
  const { firesWhen, envelope: example } = sampleOf(event);
  const name = camelCase(event);
  return {
    operationId: `on${name}`,
    // They are in the section `webhooks` of the document.
    tags: [],
    summary: event,
    description: firesWhen,
    parameters: headersOf(event, JSON.stringify(example)),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: finishedSchema(envelope(event, data, `${name}Envelope`), schemas),
          example,
        },
      },
    },
    responses,
    security: [],
  };
}

function envelope(event: WebhookEvent, data: TSchema, $id: string): Schema {
  return Type.Object(
    {
      id: { ...Uuid(), description: "The event's id: the same for every subscription, retry and replay." },
      type: Type.Literal(event),
      created_at: Type.String({ format: "date-time" }),
      data,
    },
    { $id },
  );
}

function headersOf(event: WebhookEvent, rawBody: string): Parameter[] {
  const secrets = [exampleSecret];
  return [
    header("X-Service-Event", "The event type.", { type: "string", const: event }, event),
    header(
      "X-Service-Delivery",
      "The envelope's `id`.",
      { type: "string", format: "uuid" },
      exampleIds.event,
    ),
    header(
      "X-Service-Signature",
      "`t=<seconds since 1970>,v1=<hex digest>`: the HMAC-SHA256 of `<t>.<raw request body>` under the " +
        "subscription's signing secret. During a secret rotation there may be a second `v1`. Compare in " +
        "constant time, and reject a `t` older than 300 seconds.",
      { type: "string" },
      deliverySignature(secrets, sentAtSeconds, rawBody),
    ),
    header(
      "webhook-id",
      "The envelope's `id`, for Standard Webhooks libraries.",
      { type: "string", format: "uuid" },
      exampleIds.event,
    ),
    header(
      "webhook-timestamp",
      "When it was sent, in seconds since 1970.",
      { type: "integer", minimum: 0 },
      sentAtSeconds,
    ),
    header(
      "webhook-signature",
      "`v1,<base64 digest>`: the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw request body>` " +
        "under the key that the signing secret holds in base64 after `whsec_`. During a secret rotation " +
        "there may be a second signature after a space.",
      { type: "string" },
      standardSignature(secrets, exampleIds.event, sentAtSeconds, rawBody),
    ),
    header(
      "X-Service-Cursor",
      "The event's place in the feed of the subscription, to go on from: see the operation `listEvents`.",
      { type: "string" },
      exampleCursor,
    ),
  ];
}

function header(name: string, description: string, schema: Schema, example: string | number): Parameter {
  return { name, in: "header", description, required: true, schema, example };
}

/** `channel.member_added` becomes `ChannelMemberAdded`. */
function camelCase(event: WebhookEvent): string {
  return event.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
