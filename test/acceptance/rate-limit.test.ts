import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";

const limit = 5;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ INTEGRATIONS_API_RATE_LIMIT: String(limit) });
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The three headers of the rate limit, as numbers. */
function standingOf({ headers }: Answer<unknown>) {
  const number = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN);
  return { limit: number("limit"), remaining: number("remaining"), reset: number("reset") };
}

describe("the rate limit of a token", () => {
  test("counts down in every response, whatever its status, and then is a 429", async () => {
    const { cast } = stage;
    const client = await stage.as(cast.bot, "channels:read", "messages:write");
    const before = Math.floor(Date.now() / 1000);
    const answers: Array<Answer<unknown>> = [
      await client.get("/channels"),
      await client.get(`/channels/${cast.elsewhere.id}`),
      await client.get(`/channels/${cast.open.id}/messages`),
      await client.post(`/channels/${cast.open.id}/messages`, {}),
      await client.post(`/channels/${cast.open.id}/messages`, { body: "hello" }),
      await client.get("/channels"),
      await client.get("/channels"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 403, 422, 201, 429, 429]);
    expect(answers.map((answer) => standingOf(answer).remaining)).toEqual([4, 3, 2, 1, 0, 0, 0]);
    const resets = new Set(answers.map((answer) => standingOf(answer).reset));
    expect(resets.size).toBe(1);
    for (const answer of answers) {
      expect(standingOf(answer).limit).toBe(limit);
      expect(standingOf(answer).reset).toBeWithin(before + 60, before + 63);
    }
  });

  test("says with 429 how many seconds to wait, until the window ends", async () => {
    const client = await stage.as(stage.cast.bot);
    for (let request = 0; request < limit; request++) await client.get("/channels");
    const refused = await client.get("/channels");
    expect(refused.status).toBe(429);
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeWithin(1, 61);
    expect(Math.floor(Date.now() / 1000) + retryAfter).toBeWithin(
      standingOf(refused).reset - 2,
      standingOf(refused).reset + 2,
    );
  });

  test("leaves alone the other tokens, those of the same bot too", async () => {
    const [one, other] = [await stage.as(stage.cast.bot), await stage.as(stage.cast.bot)];
    for (let request = 0; request <= limit; request++) await one.get("/channels");
    expect((await one.get("/channels")).status).toBe(429);
    expect((await other.get("/channels")).status).toBe(200);
  });

  test("holds for requests that come at once", async () => {
    const client = await stage.as(stage.cast.bot);
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.get("/channels")));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(limit);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30 - limit);
  });
});

test("the default is 60 requests a minute", async () => {
  await using usual = await startStage({ INTEGRATIONS_API_RATE_LIMIT: "" });
  const client = await usual.as(usual.cast.bot);
  const statuses = new Map<number, number>();
  for (let request = 0; request < 61; request++) {
    const { status } = await client.get("/channels");
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: 60, 429: 1 });
});
