import { type Static, Type } from "@sinclair/typebox";
import { Nullable, OneOf, Text, Uuid } from "../input/validation.ts";

export const channelVisibilities = ["public", "private"] as const;

/** A channel as the API shows it (specification part 2). */
export const Channel = Type.Object(
  {
    id: Uuid(),
    name: Type.String(),
    slug: Type.String({ description: "Derived from the name; unique in the workspace." }),
    visibility: OneOf(channelVisibilities),
    topic: Nullable(Type.String()),
    is_general: Type.Boolean({ description: "Whether it is the workspace's default channel." }),
    is_archived: Type.Boolean({ description: "An archived channel is read-only." }),
    is_direct: Type.Boolean({ description: "Whether it is a direct-message conversation." }),
    created_at: Nullable(Type.String({ format: "date-time" })),
  },
  { $id: "Channel" },
);
export type Channel = Static<typeof Channel>;

/** The body of `POST /channels` (specification part 4). */
export const ChannelInput = Type.Object({
  name: Text({
    maxLength: 255,
    minLength: 1,
    isName: true,
    description:
      "One leading `#` is dropped before the length is checked. The slug derived from the name must be unique in the workspace.",
  }),
  visibility: OneOf(channelVisibilities),
  topic: Type.Optional(Nullable(Text({ maxLength: 255 }))),
});
export type ChannelInput = Static<typeof ChannelInput>;
