import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { engine } from "../support/engine.ts";
import { type ScimStage, scimToken, startScimStage } from "../support/scim-stage.ts";
import { actor } from "../support/workspace.ts";
import { growthAfter, leastGrowth } from "./memory.ts";
import { asOurs, exchange, exchangeAll, type RawAnswer, requestText } from "./raw-connection.ts";
import { expectNoFaults, linesUpToNow } from "./server-log.ts";

const allowance = 600;
const channels = "GET /api/v1/channels HTTP/1.1";
const people = "GET /scim/v2/Users HTTP/1.1";

let stage: ScimStage;
let token: string;
let revoked: string;
let address: string;

beforeAll(async () => {
  stage = await startScimStage();
  const { workspace, owner, general, teamId, server } = stage;
  ({ token } = await workspace.token(owner));
  const dead = await workspace.token(owner);
  await workspace.database.write((tx) => revokeToken(tx, teamId, dead.id, actor));
  revoked = dead.token;
  const bot = await workspace.bot(teamId, "ci", [general]);
  const vault = new Vault(findKey(server.dataDir, ""));
  const hook = await workspace.database.write((tx) =>
    createIncomingWebhook(tx, vault, { bot, channel: general }, { name: "ci", signed: false }, actor),
  );
  address = hook.token;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** Sends requests with tokens that nobody has from the address, and counts the answers by status. */
async function guess(from: string, count: number): Promise<Record<number, number>> {
  const requests = Array.from({ length: count }, () =>
    requestText(channels, ["Host: a", `Authorization: Bearer ${newSecret("ply_pat_")}`]),
  );
  const answers = await exchangeAll(stage.server.url, requests, from);
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The answer to one request from the address. */
async function ask(from: string, line: string, headers: string[] = [], body = ""): Promise<RawAnswer> {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const request = requestText(line, ["Host: a", ...headers, length, "Connection: close"], body);
  const [answer] = await exchange(stage.server.url, request, from);
  if (!answer) throw new Error(`There was no answer to ${line}.`);
  return answer;
}

const bearer = (text: string) => [`Authorization: Bearer ${text}`];

function post(from: string, to: string): Promise<RawAnswer> {
  return ask(from, `POST /webhooks/incoming/${to} HTTP/1.1`, [], '{"text":"hello"}');
}

describe("wrong credentials from one address", () => {
  test("are 401 for 600 requests in a minute, then 429 with Retry-After", async () => {
    const from = "127.0.1.1";
    expect(await guess(from, allowance + 100)).toEqual({ 401: allowance, 429: 100 });
    const refused = await asOurs(channels, await ask(from, channels, bearer(newSecret("ply_bot_"))));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(refused.headers.get("x-ratelimit-limit")).toBe(String(allowance));
    expect(refused.headers.get("x-ratelimit-remaining")).toBe("0");
    expect(refused.json.message).toMatch(/wrong credentials/);
  });

  test("never affect valid credentials, before, during or after", async () => {
    const from = "127.0.1.2";
    let isOver = false;
    const guessing = guess(from, 3 * allowance).finally(() => (isOver = true));
    const statuses = new Set<number>();
    while (!isOver) statuses.add((await ask(from, channels, bearer(token))).status);
    expect(await guessing).toEqual({ 401: allowance, 429: 2 * allowance });
    expect([...statuses]).toEqual([200]);
    expect((await ask(from, channels, bearer(token))).status).toBe(200);
    expect((await ask(from, people, bearer(scimToken))).status).toBe(200);
    expect((await post(from, address)).status).toBe(202);
  });

  test("do not affect other addresses, whatever address the headers claim", async () => {
    const from = "127.0.1.3";
    await guess(from, allowance);
    expect((await ask("127.0.1.4", channels, bearer(revoked))).status).toBe(401);
    const elsewhere = ["X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1", "Forwarded: for=192.0.2.1"];
    expect((await ask(from, channels, [...bearer(revoked), ...elsewhere])).status).toBe(429);
  });

  test("are unknown, revoked, malformed or missing tokens, under any method", async () => {
    const from = "127.0.1.5";
    const ways = [bearer(newSecret("ply_pat_")), bearer(revoked), bearer("abc"), ["Authorization: x"], []];
    for (const headers of ways) expect((await ask(from, channels, headers)).status).toBe(401);
    expect((await ask(from, channels.replace("GET", "HEAD"), bearer("abc"))).status).toBe(401);
    expect(await guess(from, allowance)).toEqual({ 401: allowance - ways.length - 1, 429: ways.length + 1 });
    for (const headers of ways) expect((await ask(from, channels, headers)).status).toBe(429);
    expect((await ask(from, channels.replace("GET", "HEAD"), bearer("abc"))).status).toBe(429);
    const body = await ask(from, "POST /api/v1/channels HTTP/1.1", [], '{"name":"x"}');
    expect(body.status).toBe(429);
  });

  test("include the directory's tokens, whose errors have SCIM's form", async () => {
    const from = "127.0.1.6";
    expect((await ask(from, people, bearer("guess"))).status).toBe(401);
    expect((await ask(from, people.replace("GET", "HEAD"), bearer("guess"))).status).toBe(401);
    expect(await guess(from, allowance)).toEqual({ 401: allowance - 2, 429: 2 });
    const refused = await ask(from, people, bearer("guess"));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("content-type")).toBe("application/scim+json");
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(JSON.parse(refused.body)).toMatchObject({
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: "429",
      detail: expect.stringMatching(/wrong credentials/),
    });
    expect((await ask(from, people, bearer(scimToken))).status).toBe(200);
  });

  test("include unknown URLs of incoming webhooks", async () => {
    const from = "127.0.1.7";
    expect((await post(from, newSecret("ply_in_"))).status).toBe(404);
    expect((await post(from, "anything")).status).toBe(404);
    expect(await guess(from, allowance)).toEqual({ 401: allowance - 2, 429: 2 });
    for (const wrong of [newSecret("ply_in_"), "anything"]) {
      const refused = await asOurs(wrong, await post(from, wrong));
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 61);
    }
    expect((await post(from, address)).status).toBe(202);
  });

  test("do not include requests without a need for any, or with another error", async () => {
    const from = "127.0.1.8";
    for (const line of [
      "GET /healthz",
      "GET /api/v1/nowhere",
      "GET /webhooks/incoming/x",
      "GET /api/v1/openapi.json",
    ]) {
      await ask(from, `${line} HTTP/1.1`);
    }
    expect((await ask(from, "GET /api/v1/channels/0 HTTP/1.1", bearer(token))).status).toBe(404);
    expect(await guess(from, allowance)).toEqual({ 401: allowance });
  });

  test("are logged once, with the address and without a credential", async () => {
    const from = "127.0.1.9";
    await guess(from, allowance);
    const ofAddress = (lines: readonly string[]) =>
      lines.filter((line) => line.includes(`"${from}"`) && !line.includes("request.handled"));
    expect(ofAddress(await linesUpToNow(stage.server))).toEqual([]);
    await guess(from, 100);
    await post(from, address.replace("ply_in_", "ply_out_"));
    const said = ofAddress(await linesUpToNow(stage.server));
    expect(said).toHaveLength(1);
    expect(JSON.parse(said[0] ?? "")).toMatchObject({ level: 40, msg: "credentials.limited", address: from });
    expect(said[0]).not.toContain("ply_");
  });
});

test("wrong tokens from a thousand addresses leave nothing in memory and affect nobody", async () => {
  // On PostgreSQL each is a look-up over the network. What is kept is kept by address.
  const each = engine === "sqlite" ? 100 : 10;
  const addresses = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `127.1.${(from + index) >> 8}.${(from + index) & 255}`);
  const right = async () => expect((await ask("127.1.0.0", channels, bearer(token))).status).toBe(200);
  for (const from of addresses(2_000, 200)) expect(await guess(from, each)).toEqual({ 401: each });
  let firstAddress = 0;
  const guessFromAThousand = async () => {
    for (const from of addresses(firstAddress, 1_000)) {
      expect(await guess(from, each)).toEqual({ 401: each });
      await right();
    }
    firstAddress += 3_000;
  };
  expect(await leastGrowth(20, () => growthAfter(stage.server.pid, guessFromAThousand))).toBeLessThan(20);
}, 120_000);

test("left no internal error in the log", () => expectNoFaults(stage.server));
