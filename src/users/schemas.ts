import { type Static, Type } from "@sinclair/typebox";
import { OneOf, Text, Uuid } from "../validation.ts";

/** A member of a team as the API shows it (specification part 2). */
export const User = Type.Object(
  {
    id: Uuid(),
    name: Type.String(),
    type: OneOf(["human", "bot"]),
  },
  { $id: "User" },
);
export type User = Static<typeof User>;

/** How long the name of a person, a bot, a team or a token may be, in code points. */
export const nameLengthMax = 255;

/** What a person or a bot is made from; a token has such a name too. */
export const NewUser = Type.Object({
  name: Text({ maxLength: nameLengthMax, minLength: 1, isTrimmed: true, isName: true }),
});
