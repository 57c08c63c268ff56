import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";
import type { Authentication } from "../http/authentication.ts";
import { nothing, errorResponses, errorResponsesOfParameter } from "../http/contract.ts";
import { addReaction, emojiOfMessageMax, removeReaction } from "../reactions/reactions.ts";
import { workOf } from "../tracing/request-work.ts";

/** `/channels/{channel}/messages/{message}/reactions/{emoji}` (specification part 4, reactions). */
export function reactionRoutes({
  database,
  authentication,
}: {
  database: Database;
  authentication: Authentication;
}) {
  return new Elysia({ prefix: "/channels/:channel/messages/:message/reactions", tags: ["Reactions"] })
    .use(authentication)
    .put(
      "/:emoji",
      async ({ request, subject, params: { channel, message, emoji }, status }) => {
        await database.write((tx) => addReaction(tx, subject, channel, message, emoji), workOf(request));
        return status(204, undefined);
      },
      {
        scope: "reactions:write",
        parse: "none",
        detail: {
          operationId: "addReaction",
          summary: "Add a reaction",
          description:
            `Adding it again changes nothing. A message can have at most ${emojiOfMessageMax} different ` +
            "emoji; one that it has already can always be added.",
        },
        response: { 204: nothing, ...errorResponsesOfParameter },
      },
    )
    .delete(
      "/:emoji",
      async ({ request, subject, params: { channel, message, emoji }, status }) => {
        await database.write((tx) => removeReaction(tx, subject, channel, message, emoji), workOf(request));
        return status(204, undefined);
      },
      {
        scope: "reactions:write",
        parse: "none",
        detail: {
          operationId: "removeReaction",
          summary: "Remove a reaction",
          description: "Removing a reaction that does not exist changes nothing.",
        },
        response: { 204: nothing, ...errorResponses },
      },
    );
}
