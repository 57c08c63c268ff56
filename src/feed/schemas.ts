import { type Static, Type } from "@sinclair/typebox";
import { webhookEvents } from "../event-types.ts";
import { OneOf, Text, Uuid, WholeNumber } from "../input/validation.ts";
import { cursorLengthMax } from "../outbox/cursor.ts";

/** How many events a page has at most, and unless the request says otherwise. */
const eventsMax = 1_000;
const eventsByDefault = 100;

/** How long a request may be held, in seconds: shorter than what most proxies allow. */
const waitMax = 50;

/** The query of `GET /webhooks/{subscription}/events`. */
export const EventsQuery = Type.Object({
  after: Type.Optional(
    Text({
      maxLength: cursorLengthMax,
      minLength: 1,
      description:
        "The cursor to go on from: the `next` of the page before. Omitted, the oldest event comes first.",
    }),
  ),
  limit: Type.Optional(
    WholeNumber({
      minimum: 1,
      maximum: eventsMax,
      default: eventsByDefault,
      description: "The maximum number of events. A page of long messages has fewer.",
    }),
  ),
  wait: Type.Optional(
    WholeNumber({
      minimum: 0,
      maximum: waitMax,
      default: 0,
      description: "For how many seconds to hold the request until there is an event, if there is none.",
    }),
  ),
});

/** What a request asks for. */
export type Asked = { after: string | undefined; limit: number; waitMs: number };

/** Returns the checked query with its defaults. */
export function askedOf({ after, limit, wait }: Static<typeof EventsQuery>): Asked {
  return { after, limit: Number(limit ?? eventsByDefault), waitMs: Number(wait ?? 0) * 1000 };
}

/** An event's envelope as it is delivered (specification part 6). */
const Envelope = Type.Object(
  {
    id: Uuid({ description: "The same in every delivery of the event." }),
    type: OneOf(webhookEvents),
    created_at: Type.String({ format: "date-time" }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      description: "As in deliveries: see the webhooks of this document.",
    }),
  },
  { $id: "EventEnvelope" },
);
export type Envelope = Static<typeof Envelope>;

/** A page of a subscription's events. */
export const EventPage = Type.Object({
  data: Type.Array(
    Type.Object({
      cursor: Type.String({
        description: "Goes on after this event. Its delivery has it as `X-Service-Cursor`.",
      }),
      event: Envelope,
    }),
  ),
  meta: Type.Object({
    next: Type.String({ description: "The cursor to go on from, also after a page without events." }),
    caught_up: Type.Boolean({
      description:
        "Whether there was no further event. If not, ask again: also a page without events may not be the last.",
    }),
  }),
});
export type EventPage = Static<typeof EventPage>;
