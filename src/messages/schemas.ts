import { type Static, Type } from "@sinclair/typebox";
import { User } from "../users/schemas.ts";
import { Nullable, OneOf, PageNumber, Text, Uuid } from "../input/validation.ts";

/** How many messages a page holds (specification part 8). */
export const messagesPerPage = 50;

/** How long the body of a message may be, in code points after trimming. */
export const bodyLengthMax = 8_000;

/** An emoji on a message and how many members used it. */
export const ReactionSummary = Type.Object(
  {
    emoji: Type.String(),
    count: Type.Integer({ minimum: 1, description: "How many members reacted with it." }),
  },
  { $id: "ReactionSummary" },
);
export type ReactionSummary = Static<typeof ReactionSummary>;

/** A message as the API and the events show it (specification part 2, decisions on `username` and its neighbours). */
export const Message = Type.Object(
  {
    id: Uuid(),
    channel_id: Uuid(),
    body: Type.String({ description: "Empty in a tombstone and in a system notice." }),
    type: OneOf(["standard", "member_joined", "member_left", "poll"]),
    author: User,
    reply_to_id: Nullable(Uuid({ description: "The message that this one answers inline." })),
    thread_root_id: Nullable(Uuid({ description: "The message whose thread this one is in." })),
    reactions: Type.Array(ReactionSummary),
    created_at: Nullable(Type.String({ format: "date-time" })),
    edited_at: Nullable(Type.String({ format: "date-time", description: "Null until it is edited." })),
    username: Nullable(Type.String({ description: "The display name that an incoming webhook sent along." })),
    icon_url: Nullable(Type.String({ description: "The icon that an incoming webhook sent along." })),
    sent_to_channel: Type.Boolean({ description: "Whether a thread reply is also shown in the channel." }),
  },
  { $id: "Message" },
);
export type Message = Static<typeof Message>;

/** What happened to a message, with the message as it is then (specification part 6). */
export type MessageEvent = { type: "message.created" | "message.updated" | "message.deleted"; data: Message };

const body = Text({
  maxLength: bodyLengthMax,
  minLength: 1,
  isTrimmed: true,
  description: "Unicode white space around it is dropped; the length counts code points after that.",
});

/** The body of `POST …/messages` (specification part 4). */
export const MessageInput = Type.Object({
  body,
  client_uuid: Type.Optional(
    Nullable(
      Uuid({ description: "Posting the same uuid again answers with the message of the first time." }),
    ),
  ),
  reply_to_id: Type.Optional(
    Nullable(
      Uuid({ description: "A standard message of this channel to answer inline, not a deleted one." }),
    ),
  ),
  thread_root_id: Type.Optional(
    Nullable(
      Uuid({
        description:
          "A standard message of this channel to answer in a thread, itself neither deleted nor in a thread.",
      }),
    ),
  ),
  // No `default`: a type that is generated from one requires the field.
  sent_to_channel: Type.Optional(
    Type.Boolean({
      description: "Whether a thread reply is also shown in the channel; left out, it is not.",
    }),
  ),
});
export type MessageInput = Static<typeof MessageInput>;

/** The body of `PATCH …/messages/{message}` (specification part 4). */
export const MessageEdit = Type.Object({ body });
export type MessageEdit = Static<typeof MessageEdit>;

/** The query of `GET …/messages`. */
export const MessagesQuery = Type.Object({
  page: Type.Optional(PageNumber({ description: "Which page of 50 messages; the newest are on the first." })),
});

/** Where a page stands in its collection (specification part 2, pagination). */
const PageLinks = Type.Object(
  {
    first: Nullable(Type.String()),
    last: Nullable(Type.String()),
    prev: Nullable(Type.String()),
    next: Nullable(Type.String()),
  },
  { $id: "PageLinks" },
);
const PageMeta = Type.Object(
  {
    current_page: Type.Integer(),
    from: Nullable(Type.Integer()),
    last_page: Type.Integer(),
    path: Type.String(),
    per_page: Type.Integer(),
    to: Nullable(Type.Integer()),
    total: Type.Integer(),
  },
  { $id: "PageMeta" },
);
export const MessagePage = Type.Object({ data: Type.Array(Message), links: PageLinks, meta: PageMeta });
export type MessagePage = Static<typeof MessagePage>;
