import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";
import type { Authentication } from "../http/authentication.ts";
import { contract, dataOf, errorResponses, errorResponsesOfInput } from "../http/contract.ts";
import { ignoredFieldsOf, mayIgnoreFields } from "../http/ignored-fields.ts";
import { archiveChannel, createChannel, getChannel, listChannels } from "../channels/channels.ts";
import { Channel, ChannelInput } from "../channels/schemas.ts";
import { workOf } from "../tracing/request-work.ts";

const channel = contract("ChannelData", dataOf(Channel), "The channel.");

const noteIgnored = ignoredFieldsOf(ChannelInput);

/** `/channels` (specification part 4, channels). */
export function channelRoutes({
  database,
  authentication,
}: {
  database: Database;
  authentication: Authentication;
}) {
  return new Elysia({ prefix: "/channels", tags: ["Channels"] })
    .use(authentication)
    .get("", async ({ subject }) => ({ data: await database.ask((db) => listChannels(db, subject)) }), {
      scope: "channels:read",
      detail: {
        operationId: "listChannels",
        summary: "List channels",
        description: "The channels that the subject can see, ordered by name.",
      },
      response: {
        200: contract("ChannelList", dataOf(Type.Array(Channel)), "The channels."),
        ...errorResponses,
      },
    })
    .post(
      "",
      async ({ request, readInput, set, status }) => {
        const { subject, input } = await readInput();
        const data = await database.write((tx) => createChannel(tx, subject, input), workOf(request));
        noteIgnored(set.headers, input);
        return status(201, { data });
      },
      {
        scope: "channels:write",
        parse: "none",
        detail: {
          operationId: "createChannel",
          summary: "Create a channel",
          description:
            "The subject becomes its first member. A name whose slug is taken is refused, so sending the " +
            "same body twice is too.",
        },
        body: contract("ChannelInput", ChannelInput),
        response: { 201: mayIgnoreFields(channel), ...errorResponsesOfInput },
      },
    )
    .get(
      "/:channel",
      async ({ subject, params }) => ({
        data: await database.ask((db) => getChannel(db, subject, params.channel)),
      }),
      {
        scope: "channels:read",
        detail: { operationId: "getChannel", summary: "Show a channel" },
        response: { 200: channel, ...errorResponses },
      },
    )
    .post(
      "/:channel/archive",
      async ({ request, subject, params }) => ({
        data: await database.write((tx) => archiveChannel(tx, subject, params.channel), workOf(request)),
      }),
      {
        scope: "channels:write",
        parse: "none",
        detail: {
          operationId: "archiveChannel",
          summary: "Archive a channel",
          description: "An archived channel is read-only.",
        },
        response: { 200: channel, ...errorResponses },
      },
    );
}
