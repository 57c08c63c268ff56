import { type Static, Type } from "@sinclair/typebox";
import { Uuid } from "../input/validation.ts";
import { User } from "../users/schemas.ts";

/** The body of `POST /channels/{channel}/members` (specification part 4). */
export const MemberInput = Type.Object({
  user_id: Uuid({ description: "An active user of the team who is not yet in the channel." }),
});
export type MemberInput = Static<typeof MemberInput>;

/** The `data` of `channel.member_added` (specification part 6). */
export const MemberAdded = Type.Object({ channel_id: Uuid(), user: User }, { $id: "MemberAdded" });
export type MemberEvent = { type: "channel.member_added"; data: Static<typeof MemberAdded> };
