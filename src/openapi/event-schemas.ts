import { type Static, Type } from "@sinclair/typebox";
import { Message } from "../messages/schemas.ts";
import { User } from "../users/schemas.ts";
import { Uuid } from "../input/validation.ts";

/** The `data` of `reaction.added` (specification part 6). */
export const ReactionAdded = Type.Object(
  {
    channel_id: Uuid(),
    message_id: Uuid(),
    emoji: Type.String(),
    user: User,
  },
  { $id: "ReactionAdded" },
);

/** The `data` of `channel.member_added` (specification part 6). */
export const MemberAdded = Type.Object({ channel_id: Uuid(), user: User }, { $id: "MemberAdded" });

/** What happened, as the `type` and the `data` of the envelope. */
export type Happening =
  | { type: "message.created" | "message.updated" | "message.deleted"; data: Message }
  | { type: "reaction.added"; data: Static<typeof ReactionAdded> }
  | { type: "channel.member_added"; data: Static<typeof MemberAdded> };
