import { type Static, Type } from "@sinclair/typebox";
import { OneOf, Uuid } from "../input/validation.ts";

/** A user of a team as the API shows it (specification part 2). */
export const User = Type.Object(
  {
    id: Uuid(),
    name: Type.String(),
    type: OneOf(["human", "bot"]),
  },
  { $id: "User" },
);
export type User = Static<typeof User>;
