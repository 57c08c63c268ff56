import { type Static, Type } from "@sinclair/typebox";
import { Uuid } from "../input/validation.ts";

/** The body of `POST /channels/{channel}/members` (specification part 4). */
export const MemberInput = Type.Object({
  user_id: Uuid({ description: "An active user of the team who is not in the channel yet." }),
});
export type MemberInput = Static<typeof MemberInput>;
