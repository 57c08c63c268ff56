import { type Static, Type } from "@sinclair/typebox";
import { Uuid } from "../input/validation.ts";
import { User } from "../users/schemas.ts";

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

export type ReactionEvent = { type: "reaction.added"; data: Static<typeof ReactionAdded> };
