import { Elysia } from "elysia";
import { whenAnswered } from "../database/answer.ts";
import type { Database } from "../database/database.ts";
import type { Authentication } from "../http/authentication.ts";
import {
  contract,
  dataOf,
  nothing,
  parameterContract,
  errorResponses,
  errorResponsesOfInput,
  errorResponsesOfParameter,
} from "../http/contract.ts";
import { ignoredFieldsOf, mayIgnoreFields } from "../http/ignored-fields.ts";
import { deleteMessage, editMessage, getMessage, postMessage } from "../messages/messages.ts";
import { listMessages } from "../messages/pages.ts";
import {
  IdempotencyHeaders,
  Message,
  MessageEdit,
  MessagePage,
  MessagesQuery,
  MessageInput,
} from "../messages/schemas.ts";
import { workOf } from "../tracing/request-work.ts";

const message = contract("MessageData", dataOf(Message), "The message.");

const noteIgnoredInPost = ignoredFieldsOf(MessageInput);
const noteIgnoredInEdit = ignoredFieldsOf(MessageEdit);

/** `/channels/{channel}/messages` (specification part 4, messages). */
export function messageRoutes({
  database,
  authentication,
  baseUrl,
}: {
  database: Database;
  authentication: Authentication;
  baseUrl: () => string;
}) {
  return new Elysia({ prefix: "/channels/:channel/messages", tags: ["Messages"] })
    .use(authentication)
    .get(
      "",
      async ({ subject, params, query }) => {
        const path = `${baseUrl()}/api/v1/channels/${params.channel.toLowerCase()}/messages`;
        return await database.ask((db) => listMessages(db, subject, params.channel, query, path));
      },
      {
        scope: "messages:read",
        // The page that bots read all the time takes the fast path.
        parse: "none",
        detail: {
          operationId: "listMessages",
          summary: "List messages",
          description:
            "Newest first, 50 a page, including replies, system notices and tombstones. With `after`, a program that " +
            "keeps the id of the last message it has seen reads on from there, oldest first.",
        },
        query: parameterContract(MessagesQuery),
        response: {
          200: contract("MessagePage", MessagePage, "One page of the messages, with its position."),
          ...errorResponsesOfParameter,
        },
      },
    )
    .post(
      "",
      async ({ request, params, tokenId, readInput, set, status }) => {
        const { subject, input } = await readInput();
        const key = request.headers.get("idempotency-key");
        const post = key === null ? undefined : `${params.channel} ${JSON.stringify(input)}`;
        const once = key === null ? undefined : { holder: tokenId, key, post };
        const data = await database.write(
          (tx) => postMessage(tx, subject, params.channel, input, once),
          workOf(request),
        );
        noteIgnoredInPost(set.headers, input);
        return status(201, { data });
      },
      {
        scope: "messages:write",
        parse: "none",
        detail: {
          operationId: "postMessage",
          summary: "Post a message",
          description:
            "Sending the same `client_uuid` again, or the same `Idempotency-Key` within 24 hours, returns the first message.",
        },
        headers: parameterContract(IdempotencyHeaders),
        body: contract("MessageInput", MessageInput),
        response: { 201: mayIgnoreFields(message), ...errorResponsesOfInput },
      },
    )
    .get(
      "/:message",
      ({ subject, params }) =>
        whenAnswered(
          database.ask((db) => getMessage(db, subject, params.channel, params.message)),
          (data) => ({ data }),
        ),
      {
        scope: "messages:read",
        detail: { operationId: "getMessage", summary: "Show a message" },
        response: { 200: message, ...errorResponses },
      },
    )
    .patch(
      "/:message",
      async ({ request, params, readInput, set }) => {
        const { subject, input } = await readInput();
        const data = await database.write(
          (tx) => editMessage(tx, subject, params.channel, params.message, input),
          workOf(request),
        );
        noteIgnoredInEdit(set.headers, input);
        return { data };
      },
      {
        scope: "messages:write",
        parse: "none",
        detail: {
          operationId: "editMessage",
          summary: "Edit a message",
          description: "Only the author can edit a message.",
        },
        body: contract("MessageEdit", MessageEdit),
        response: { 200: mayIgnoreFields(message), ...errorResponsesOfInput },
      },
    )
    .delete(
      "/:message",
      async ({ request, subject, params, status }) => {
        await database.write(
          (tx) => deleteMessage(tx, subject, params.channel, params.message),
          workOf(request),
        );
        return status(204, undefined);
      },
      {
        scope: "messages:write",
        parse: "none",
        detail: {
          operationId: "deleteMessage",
          summary: "Delete a message",
          description: "Only the author can delete a message. A tombstone stays in the channel.",
        },
        response: { 204: nothing, ...errorResponses },
      },
    );
}
