import type { Parameter } from "./document.ts";
import { exampleIds } from "./examples.ts";

/** The path parameters by name, or by `operation.name` for one that differs in that operation. */
export const pathParameters: Readonly<Record<string, Parameter>> = {
  channel: idInPath(
    "channel",
    "The channel's id. A channel that the token's subject cannot see is 404.",
    exampleIds.channel,
  ),
  message: idInPath("message", "The id of a message in this channel.", exampleIds.message),
  user: idInPath("user", "The id of a member of the channel.", exampleIds.user),
  subscription: idInPath(
    "subscription",
    "The id of a subscription of the token's workspace.",
    exampleIds.subscription,
  ),
  token: {
    name: "token",
    in: "path",
    description:
      "The secret at the end of the webhook's URL, which is shown once, when the webhook is created.",
    required: true,
    schema: { type: "string" },
    example: "ply_in_EXAMPLE",
  },
  emoji: {
    name: "emoji",
    in: "path",
    description:
      "One Unicode emoji, or the `:name:` of a custom emoji of the workspace: at most 32 characters, percent-encoded.",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 32 },
    example: "🎉",
  },
  "removeReaction.emoji": {
    name: "emoji",
    in: "path",
    description:
      "The emoji of the reaction, percent-encoded. Text that is not an emoji matches no reaction and is no error.",
    required: true,
    schema: { type: "string", minLength: 1 },
    example: "🎉",
  },
};

function idInPath(name: string, description: string, example: string): Parameter {
  return {
    name,
    in: "path",
    description,
    required: true,
    schema: { type: "string", format: "uuid" },
    example,
  };
}
