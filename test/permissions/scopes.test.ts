import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deleteBot } from "../../src/accounts/bots.ts";
import type { OpenApiDocument } from "../../src/openapi/document.ts";
import { scopes } from "../../src/tokens/scopes.ts";
import { createToken, revokeToken } from "../../src/tokens/tokens.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { addressOf, bodyOf, type RestRoute, restRoutes } from "../support/rest-routes.ts";
import { actor } from "../support/workspace.ts";
import {
  type PermissionStage,
  type Place,
  startPermissionStage,
  subjects,
} from "../support/permission-stage.ts";

/** Every operation with every scope: 18 × 9 tests, each for every kind of subject and for what it sees and does not. */
let stage: PermissionStage;
/** A place of the member, which requests that are refused leave as it is. */
let own: Place;
/** Tokens that are worth nothing any more, or never were, by what is wrong with them. */
let worthless: Record<string, string | undefined>;

beforeAll(async () => {
  stage = await startPermissionStage();
  own = await stage.ownPlace(stage.cast.member, "DELETE");
  worthless = await makeWorthlessTokens();
  // Before anything is compared: a token is data too.
  for (const subject of subjects) {
    for (const scope of scopes) {
      await stage.client(subject, scope);
      await stage.client(subject, ...scopes.filter((other) => other !== scope));
    }
  }
});
afterAll(() => stage[Symbol.asyncDispose]());

const send = (client: ApiClient, route: RestRoute, place: Place) =>
  client.send(route.method, addressOf(route, place), bodyOf(route, place));

/** Where a route can be asked for something unseen and something foreign; a route that names nothing has no such place. */
function hiddenFor({ path }: RestRoute): Place[] {
  return path.includes("{") ? [...stage.unseen.values()].slice(0, 2) : [];
}

describe.each(restRoutes)("$method $path", (route) => {
  const others = scopes.filter((scope) => scope !== route.scope);
  const refusal = { status: 403, json: { message: `The token lacks the scope ${route.scope}.` } };

  test.each(others)(
    "is refused with %s alone, to everybody and for visible, hidden and foreign resources",
    async (scope) => {
      await stage.changingNothing(async () => {
        for (const subject of subjects) {
          const client = await stage.client(subject, scope);
          for (const place of [own, ...hiddenFor(route)]) {
            const { status, json } = await send(client, route, place);
            expect({ status, json }, subject).toEqual(refusal);
          }
        }
      });
    },
  );

  test(`needs ${route.scope} alone, and gives each subject what it can see`, async () => {
    for (const subject of subjects) {
      const client = await stage.client(subject, route.scope);
      const isBlind = subject === "idleBot" && route.path.includes("{channel}");
      const place = await stage.ownPlace(stage.cast[isBlind ? "member" : subject], route.method);
      const { status } = await send(client, route, place);
      expect({ subject, status }).toEqual({ subject, status: isBlind ? 404 : route.success });
    }
  });

  test("is refused with the eight other scopes together", async () => {
    const client = await stage.client("member", ...others);
    await stage.changingNothing(async () => {
      const { status, json } = await send(client, route, own);
      expect({ status, json }).toEqual(refusal);
    });
  });

  test("is refused with 401 without a valid token, in the same words for every reason", async () => {
    await stage.changingNothing(async () => {
      for (const [why, token] of Object.entries(worthless)) {
        const { status, text } = await send(apiClient(stage.server.url, token), route, own);
        expect({ why, status, text }).toEqual({
          why,
          status: 401,
          text: '{"message":"Send a valid token as Authorization: Bearer <ACCESS_TOKEN>."}',
        });
      }
    });
  });
});

describe.each(restRoutes.filter(({ method }) => method === "GET"))("HEAD $path", (route) => {
  test.each(scopes)("with %s has the response of GET", async (scope) => {
    const { token } = await stage.workspace.token(stage.cast.member, scope);
    const response = await fetch(`${stage.server.url}/api/v1${addressOf(route, own)}`, {
      method: "HEAD",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(scope === route.scope ? 200 : 403);
  });
});

test("these tests cover every operation of the described API, and no other, with its scope", async () => {
  const response = await fetch(`${stage.server.url}/api/v1/openapi.json`);
  const { paths } = (await response.json()) as OpenApiDocument;
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { security }]) => security.length > 0)
      .map(([method, { security, "x-required-scope": scope }]) => ({
        route: `${method.toUpperCase()} ${path}`,
        scope,
        security,
      })),
  );
  const tested = restRoutes.map(({ method, path, scope }) => ({
    route: `${method} /api/v1${path}`,
    scope,
    security: [{ bearer: [scope] }],
  }));
  const byRoute = (one: { route: string }, other: { route: string }) => (one.route < other.route ? -1 : 1);
  expect(described.sort(byRoute)).toEqual(tested.sort(byRoute));
});

async function makeWorthlessTokens(): Promise<Record<string, string | undefined>> {
  const { workspace, cast } = stage;
  const revoked = await workspace.token(cast.admin);
  await workspace.database.write((tx) => revokeToken(tx, cast.teamId, revoked.id, actor));
  const expiresAt = Date.now() + 20;
  const brief = { name: "brief", scopes, expiresAt };
  const expired = await workspace.database.write((tx) => createToken(tx, cast.admin, brief, actor));
  const person = await workspace.person(cast.teamId, "Dora Departed", "admin");
  const ofPerson = await workspace.token(person);
  await workspace.database.write((tx) => deactivate(tx, person, actor));
  const bot = await workspace.bot(cast.teamId, "Deleted Bot");
  const ofBot = await workspace.token(bot);
  await workspace.database.write((tx) => deleteBot(tx, bot, actor));
  await until("the token has expired", () => Date.now() > expiresAt);

  const { token } = await workspace.token(cast.admin);
  return {
    none: undefined,
    malformed: "x",
    "one with another character": token.slice(0, -1) + (token.endsWith("a") ? "b" : "a"),
    revoked: revoked.token,
    expired: expired.token,
    "of somebody deactivated": ofPerson.token,
    "of a bot that was deleted": ofBot.token,
  };
}
