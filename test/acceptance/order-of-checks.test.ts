import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiClient } from "../support/client.ts";
import { addressOf, bodyOf, restRoutes } from "../support/rest-routes.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { scopes } from "../../src/tokens/scopes.ts";

/** What can be wrong with a request, in the order in which the decisions say that it is noticed. */
const faults = {
  "the platform is switched off": 404,
  "the token is wrong": 401,
  "the token has used up its minute": 429,
  "the token lacks the scope": 403,
  "the channel is hidden": 404,
  "the channel is archived": 403,
  "the body is malformed": 422,
} as const;
type Fault = keyof typeof faults;
const inOrder = Object.keys(faults) as Fault[];
const pairs = inOrder.flatMap((first, index) =>
  inOrder.slice(index + 1).map((second) => [first, second] as const),
);

let stage: Stage;
let switchedOff: Stage;
let oneAMinute: Stage;

beforeAll(async () => {
  // A subscription needs an address that exists: one of this machine does for routes that send nothing.
  stage = await startStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "false" });
  switchedOff = await startStage({ INTEGRATIONS_ENABLED: "false" });
  oneAMinute = await startStage({ INTEGRATIONS_API_RATE_LIMIT: "1" });
});

afterAll(async () => {
  await oneAMinute[Symbol.asyncDispose]();
  await switchedOff[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

/** The status of posting a message in a way that has all of these faults. */
async function statusWith(...present: Fault[]): Promise<number> {
  const has = (fault: Fault) => present.includes(fault);
  let where = stage;
  if (has("the token has used up its minute")) where = oneAMinute;
  if (has("the platform is switched off")) where = switchedOff;
  const { cast, workspace, server } = where;

  const { token } = has("the token lacks the scope")
    ? await workspace.token(cast.member, "messages:read")
    : await workspace.token(cast.member);
  if (has("the token has used up its minute")) await apiClient(server.url, token).get("/channels");

  let channel = cast.open;
  if (has("the channel is archived")) channel = cast.archived;
  if (has("the channel is hidden")) {
    channel = await workspace.channel(cast.owner, `hidden ${Bun.randomUUIDv7()}`, "private");
    if (has("the channel is archived")) await workspace.archive(channel);
  }
  const sent = has("the token is wrong") ? `${token.slice(0, -1)}!` : token;
  const body = has("the body is malformed") ? '{"body": ' : { body: "hello" };
  return (await apiClient(server.url, sent).post(`/channels/${channel.id}/messages`, body)).status;
}

describe("a request with one fault", () => {
  test("and one without any are answered as they should be", async () => {
    expect(await statusWith()).toBe(201);
    for (const fault of inOrder) expect(await statusWith(fault), fault).toBe(faults[fault]);
  });
});

describe("a request with two faults", () => {
  test.each(pairs)("is told that %s, not that %s", async (first, second) => {
    expect(await statusWith(first, second)).toBe(faults[first]);
  });

  test("of which one is a body over 1 MiB is told of the token and the scope first, else 413", async () => {
    const { cast, server } = stage;
    const address = `/channels/${cast.open.id}/messages`;
    const body = JSON.stringify({ body: "x".repeat(1024 * 1024) });
    expect((await apiClient(server.url, "ply_pat_wrong").post(address, body)).status).toBe(401);
    expect((await (await stage.as(cast.member, "messages:read")).post(address, body)).status).toBe(403);
    expect((await (await stage.as(cast.member)).post(address, body)).status).toBe(413);
  });
});

describe.each(restRoutes)("$method $path", (route) => {
  /** A channel, message and subscription that the admin may do everything with, and somebody to add or remove. */
  async function stageFor(): Promise<Record<string, string>> {
    const { cast, workspace } = stage;
    const channel = await workspace.channel(cast.admin, `for ${Bun.randomUUIDv7()}`, "private");
    const { id: message } = await workspace.message(channel, cast.admin);
    const user = await workspace.person(cast.teamId, "Newcomer");
    if (route.method === "DELETE") await workspace.join(channel, user);
    const parameters = { channel: channel.id, message, user: user.id, emoji: "👍" };
    if (!route.path.includes("{subscription}")) return parameters;
    const created = await (
      await stage.as(cast.admin)
    ).post<{ data: { id: string } }>("/webhooks", {
      name: "receiver",
      url: "http://127.0.0.1:9/",
      events: ["message.deleted"],
      channel_ids: [channel.id],
    });
    return { ...parameters, subscription: created.json.data.id };
  }

  test(`needs ${route.scope} and nothing else`, async () => {
    const parameters = await stageFor();
    const others = scopes.filter((scope) => scope !== route.scope);
    const withoutIt = await stage.as(stage.cast.admin, ...others);
    const withItAlone = await stage.as(stage.cast.admin, route.scope);
    const request = [route.method, addressOf(route, parameters), bodyOf(route, parameters)] as const;
    expect((await withoutIt.send(...request)).status).toBe(403);
    expect((await withItAlone.send(...request)).status).toBe(route.success);
  });

  test("answers 401 without a token or with one that is malformed", async () => {
    const parameters = await stageFor();
    const request = [route.method, addressOf(route, parameters), bodyOf(route, parameters)] as const;
    expect((await apiClient(stage.server.url).send(...request)).status).toBe(401);
    expect((await apiClient(stage.server.url, "x").send(...request)).status).toBe(401);
  });

  test("answers 404 for an id that is no uuid, whatever the body", async () => {
    const parameters = await stageFor();
    const admin = await stage.as(stage.cast.admin);
    for (const name of ["channel", "message", "user", "subscription"].filter((part) =>
      route.path.includes(`{${part}}`),
    )) {
      for (const id of ["1", "general", `${parameters[name]}0`, "%00", "0".repeat(36)]) {
        const address = addressOf(route, { ...parameters, [name]: id });
        const { status } = await admin.send(route.method, address, route.body && '{"broken"');
        expect(status, address).toBe(404);
      }
    }
  });
});
