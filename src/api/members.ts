import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Database } from "../database/database.ts";
import type { Authentication } from "../http/authentication.ts";
import { contract, dataOf, nothing, errorResponses, errorResponsesOfInput } from "../http/contract.ts";
import { ignoredFieldsOf, mayIgnoreFields } from "../http/ignored-fields.ts";
import { User } from "../users/schemas.ts";
import { addMember, listMembers, removeMember } from "../members/members.ts";
import { MemberInput } from "../members/schemas.ts";
import { workOf } from "../tracing/request-work.ts";

const member = contract("UserData", dataOf(User), "The new member.");

const noteIgnored = ignoredFieldsOf(MemberInput);

/** `/channels/{channel}/members` (specification part 4, members). */
export function memberRoutes({
  database,
  authentication,
}: {
  database: Database;
  authentication: Authentication;
}) {
  return new Elysia({ prefix: "/channels/:channel/members", tags: ["Members"] })
    .use(authentication)
    .get(
      "",
      async ({ subject, params }) => ({
        data: await database.ask((db) => listMembers(db, subject, params.channel)),
      }),
      {
        scope: "members:read",
        detail: {
          operationId: "listMembers",
          summary: "List members",
          description: "The active members of the channel, ordered by name.",
        },
        response: { 200: contract("UserList", dataOf(Type.Array(User)), "The members."), ...errorResponses },
      },
    )
    .post(
      "",
      async ({ request, params, readInput, set, status }) => {
        const { subject, input } = await readInput();
        const data = await database.write(
          (tx) => addMember(tx, subject, params.channel, input),
          workOf(request),
        );
        noteIgnored(set.headers, input);
        return status(201, { data });
      },
      {
        scope: "members:write",
        parse: "none",
        detail: {
          operationId: "addMember",
          summary: "Add a member",
          description:
            "Only in private channels, by a member of the channel or a team admin. Adding someone who is " +
            "already a member is refused.",
        },
        body: contract("MemberInput", MemberInput),
        response: { 201: mayIgnoreFields(member), ...errorResponsesOfInput },
      },
    )
    .delete(
      "/:user",
      async ({ request, subject, params, status }) => {
        await database.write((tx) => removeMember(tx, subject, params.channel, params.user), workOf(request));
        return status(204, undefined);
      },
      {
        scope: "members:write",
        parse: "none",
        detail: {
          operationId: "removeMember",
          summary: "Remove a member",
          description: "Only in private channels, by a member of the channel or a team admin.",
        },
        response: { 204: nothing, ...errorResponses },
      },
    );
}
