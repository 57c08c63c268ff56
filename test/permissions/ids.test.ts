import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { OpenApiDocument, Schema } from "../../src/openapi/document.ts";
import type { Message } from "../../src/messages/schemas.ts";
import type { Answer, ApiClient } from "../support/client.ts";
import { addressOf, bodyOf } from "../support/rest-routes.ts";
import { type HiddenIds, makeHidden, type Naming, namings } from "./ids.ts";
import {
  type PermissionStage,
  type Place,
  startPermissionStage,
  type SubjectName,
  subjects,
} from "../support/permission-stage.ts";

/** What a subject may not see answers as what is not there: 27 ways to name something, each as a human and as a bot. */
let stage: PermissionStage;
let hiddenIds: HiddenIds;
/** For each subject a place in which nothing but one id is amiss; a bot that is in no channel has none of its own. */
let places: Record<SubjectName, Place>;

beforeAll(async () => {
  stage = await startPermissionStage();
  hiddenIds = await makeHidden(stage);
  const own = subjects.map(async (name) => [name, await stage.ownPlace(stage.cast[name], "DELETE")] as const);
  places = { ...(Object.fromEntries(await Promise.all(own)) as typeof places), idleBot: stage.closed };
});
afterAll(() => stage[Symbol.asyncDispose]());

const kinds: Array<[string, SubjectName[]]> = [
  ["a human", ["owner", "admin", "member"]],
  ["a bot", ["bot", "idleBot"]],
];

/** The request in the place with this one id exchanged; with `body`, that in the place of its own. */
async function sendNaming(
  client: ApiClient,
  { route, name, isInBody }: Naming,
  place: Place,
  id: string,
  body?: string,
): Promise<Answer> {
  const named = isInBody ? { [name]: name === "channel_ids" ? [place.channel, id] : id } : {};
  const address = addressOf(route, isInBody ? place : { ...place, [name]: id });
  return await client.send(
    route.method,
    address,
    body ?? (route.body && { ...bodyOf(route, place), ...named }),
  );
}

/** All of an answer that could tell one case from another. */
function told({ status, text, headers }: Answer) {
  return { status, text, headers: [...headers.keys()].filter((name) => name !== "date").sort() };
}

describe.each(namings)("$title", (naming) => {
  const { route, kind, isInBody, status } = naming;
  const unknown = kind === "emoji" ? ":nothing:" : Bun.randomUUIDv7();
  const noIds = ["1", "general", `${unknown}0`, "%00", "0".repeat(36)];

  test.each(kinds)(
    "tells %s the same for a hidden id, an id of another team and an unknown id",
    async (_, ofThem) => {
      for (const subject of ofThem) {
        const client = await stage.client(subject);
        const place = places[subject];
        const isBlind = subject === "idleBot" && route.path.includes("{channel}");
        await stage.changingNothing(async () => {
          const expected = told(await sendNaming(client, naming, place, unknown));
          expect({ subject, status: expected.status }).toEqual({ subject, status: isBlind ? 404 : status });
          for (const [what, id] of Object.entries(hiddenIds(naming, subject))) {
            const answer = await sendNaming(client, naming, place, id);
            expect({ what, subject, ...told(answer) }).toEqual({ what, subject, ...expected });
            const upper = await sendNaming(client, naming, place, id.toUpperCase());
            expect({ what, subject, ...told(upper) }).toEqual({ what, subject, ...expected });
          }
        });
      }
    },
  );

  if (kind === "emoji") return;
  test.each(kinds)(
    "tells %s nothing more for an invalid id, whatever else the body holds",
    async (_, ofThem) => {
      for (const subject of ofThem) {
        const client = await stage.client(subject);
        const place = places[subject];
        await stage.changingNothing(async () => {
          const expected = await sendNaming(client, naming, place, unknown);
          for (const id of noIds) {
            const answer = await sendNaming(client, naming, place, id);
            expect({ id, status: answer.status }).toEqual({ id, status: expected.status });
            if (isInBody)
              expect(Object.keys(answer.json.errors ?? {})).toEqual(Object.keys(expected.json.errors ?? {}));
            else {
              const broken = await sendNaming(client, naming, place, id, route.body && '{"broken"');
              expect([answer.text, broken.text]).toEqual([expected.text, expected.text]);
            }
          }
          if (isInBody) return;
          for (const id of [unknown, ...Object.values(hiddenIds(naming, subject))]) {
            const broken = await sendNaming(client, naming, place, id, route.body && '{"broken"');
            expect(told(broken)).toEqual(told(expected));
          }
        });
      }
    },
  );
});

describe("the client_uuid of POST /channels/{channel}/messages", () => {
  test.each(kinds)(
    "finds for %s no message of others, in hidden channels or of another team",
    async (_, ofThem) => {
      for (const subject of ofThem.filter((each) => each !== "idleBot")) {
        const client_uuid = crypto.randomUUID();
        const post = async (by: ApiClient, channel: string, body: string) => {
          const posted = await by.post<{ data: Message }>(`/channels/${channel}/messages`, {
            body,
            client_uuid,
          });
          expect(posted.status).toBe(201);
          return posted.json.data;
        };
        const stranger = await stage.as(stage.cast.stranger);
        const outsider = await stage.as(stage.cast.outsider);
        const unseen = await post(stranger, stage.closed.channel, "unseen");
        const foreign = await post(outsider, stage.cast.elsewhere.id, "foreign");

        const place = places[subject];
        const own = await post(await stage.client(subject), place.channel, "one's own");
        expect(own).toMatchObject({ channel_id: place.channel, body: "one's own" });
        expect(new Set([own.id, unseen.id, foreign.id]).size).toBe(3);
        const read = async (by: ApiClient, { channel_id, id }: Message) =>
          (await by.get<{ data: Message }>(`/channels/${channel_id}/messages/${id}`)).json.data;
        expect([await read(stranger, unseen), await read(outsider, foreign)]).toEqual([unseen, foreign]);
      }
    },
  );
});

test("these tests cover every parameter and field of the described API that names something", async () => {
  const response = await fetch(`${stage.server.url}/api/v1/openapi.json`);
  const { paths, components } = (await response.json()) as OpenApiDocument;
  const described: string[] = [];
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, { parameters, requestBody, security }] of Object.entries(item)) {
      if (security.length === 0) continue;
      const operation = `${method.toUpperCase()} ${path.replace("/api/v1", "")}`;
      for (const parameter of parameters) {
        const { name, in: where } =
          "$ref" in parameter
            ? (components.parameters[parameter.$ref.split("/").at(-1) ?? ""] ?? {})
            : parameter;
        described.push(where === "path" ? `the {${name}} of ${operation}` : `${name} of ${operation}`);
      }
      const body = requestBody?.content["application/json"]?.schema.$ref as string | undefined;
      const { properties } = components.schemas[body?.split("/").at(-1) ?? ""] ?? {};
      for (const [name, schema] of Object.entries((properties ?? {}) as Record<string, Schema>)) {
        if (JSON.stringify(schema).includes('"uuid"')) described.push(`the ${name} of ${operation}`);
      }
    }
  }
  const others = [
    ...["after", "page"].map((name) => `${name} of GET /channels/{channel}/messages`),
    "Idempotency-Key of POST /channels/{channel}/messages",
    ...["after", "limit"].map((name) => `${name} of GET /webhooks/{subscription}/deliveries`),
    ...["after", "limit", "wait"].map((name) => `${name} of GET /webhooks/{subscription}/events`),
    "the client_uuid of POST /channels/{channel}/messages",
  ];
  expect(described.sort()).toEqual([...namings.map(({ title }) => title), ...others].sort());
});
