import { type Static, Type } from "@sinclair/typebox";
import { User } from "../users/schemas.ts";
import { Nullable, OneOf, PageNumber, Text, Uuid } from "../input/validation.ts";

/** Messages per page (specification part 8). */
export const messagesPerPage = 50;

/** Maximum length of a message body, in code points after trimming. */
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

/** A message as the API and events show it (specification part 2, decisions on `username` and the fields after it). */
export const Message = Type.Object(
  {
    id: Uuid(),
    channel_id: Uuid(),
    body: Type.String({ description: "Empty in a tombstone and in a system notice." }),
    type: OneOf(["standard", "member_joined", "member_left", "poll"]),
    author: User,
    reply_to_id: Nullable(Uuid({ description: "The message that this one replies to inline." })),
    thread_root_id: Nullable(Uuid({ description: "The root of the thread that this message is in." })),
    reactions: Type.Array(ReactionSummary),
    created_at: Nullable(Type.String({ format: "date-time" })),
    edited_at: Nullable(
      Type.String({ format: "date-time", description: "Null until the message is edited." }),
    ),
    username: Nullable(Type.String({ description: "The display name from an incoming webhook." })),
    icon_url: Nullable(Type.String({ description: "The icon URL from an incoming webhook." })),
    sent_to_channel: Type.Boolean({ description: "Whether a thread reply is also shown in the channel." }),
  },
  { $id: "Message" },
);
export type Message = Static<typeof Message>;

/** An event about a message, with the message as of that moment (specification part 6). */
export type MessageEvent = { type: "message.created" | "message.updated" | "message.deleted"; data: Message };

const body = Text({
  maxLength: bodyLengthMax,
  minLength: 1,
  isTrimmed: true,
  description: "Surrounding Unicode white space is trimmed first; the length counts code points.",
});

/** The body of `POST …/messages` (specification part 4). */
export const MessageInput = Type.Object({
  body,
  client_uuid: Type.Optional(
    Nullable(Uuid({ description: "Posting the same uuid again returns the first message." })),
  ),
  reply_to_id: Type.Optional(
    Nullable(
      Uuid({
        description: "The message to reply to inline: a standard message of this channel, not deleted.",
      }),
    ),
  ),
  thread_root_id: Type.Optional(
    Nullable(
      Uuid({
        description:
          "The message to reply to in a thread: a standard message of this channel, neither deleted nor in a thread.",
      }),
    ),
  ),
  // No `default`: generators make a field with one required.
  sent_to_channel: Type.Optional(
    Type.Boolean({
      description: "Whether to show a thread reply in the channel too; false by default.",
    }),
  ),
});
export type MessageInput = Static<typeof MessageInput>;

/** The header that makes a request to post repeatable, for the OpenAPI document: `firstPosted` checks it. */
export const IdempotencyHeaders = Type.Object({
  "Idempotency-Key": Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        "A name of your choice for this post, in printable ASCII. Within 24 hours a repetition with the same key makes no second message and is answered as the first; another post under the key is 422.",
    }),
  ),
});

/** The body of `PATCH …/messages/{message}` (specification part 4). */
export const MessageEdit = Type.Object({ body });
export type MessageEdit = Static<typeof MessageEdit>;

/** The query of `GET …/messages`. */
export const MessagesQuery = Type.Object({
  page: Type.Optional(PageNumber({ description: "The page of 50 messages; page 1 has the newest." })),
  after: Type.Optional(
    Uuid({
      description:
        "The id of a message of the channel: the 50 messages after it come, oldest first. Not together with `page`.",
    }),
  ),
});

/** The position of a page in its collection (specification part 2, pagination). */
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
