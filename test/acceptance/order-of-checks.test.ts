import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

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
  stage = await startStage();
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
