import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { newSecret } from "../../src/secrets/secret-text.ts";
import { Vault } from "../../src/secrets/vault.ts";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { UserRow } from "../../src/users/store.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";
import { exchange, exchangeAll, type RawAnswer, requestText } from "../hostile/raw-connection.ts";

const proxy = "127.0.3.1";

let server: TestServer;
let workspace: Workspace;
let bot: UserRow;
let general: ChannelRow;
let token: { id: string; token: string };
let webhook: { id: string; token: string };

beforeAll(async () => {
  server = await startServer({ environment: { PARLEY_TRUSTED_PROXIES: `${proxy}, 10.0.0.0/8` } });
  workspace = await openWorkspace(server.dataDir);
  const team = await workspace.team("Acme");
  ({ general } = team);
  bot = await workspace.bot(team.id, "ci", [general]);
  token = await workspace.token(bot);
  const vault = new Vault(findKey(server.dataDir, ""));
  webhook = await workspace.database.write((tx) =>
    createIncomingWebhook(tx, vault, { bot, channel: general }, { name: "ci", signed: false }, actor),
  );
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The answer to one request from an address of this machine. */
async function ask(from: string, line: string, headers: string[] = [], body = ""): Promise<RawAnswer> {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const text = requestText(`${line} HTTP/1.1`, ["Host: a", ...headers, length, "Connection: close"], body);
  const [answer] = await exchange(server.url, text, from);
  if (!answer) throw new Error(`There was no answer to ${line}.`);
  return answer;
}

/** What the log says of the request with this answer, and the text of the line. */
async function lineOf({ headers }: RawAnswer): Promise<Record<string, unknown>> {
  const id = headers.get("x-request-id");
  return await server.logLine(({ request_id }) => request_id === id);
}

const bearer = (text: string) => `Authorization: Bearer ${text}`;

/** The fields that tell whom a request came from and what it was about. */
function callerIn({ token_id, user_id, webhook_id, channel_id, address }: Record<string, unknown>) {
  return { token_id, user_id, webhook_id, channel_id, address };
}

describe("the log line of a request", () => {
  const from = "127.0.3.7";

  test("names the token, its user, the channel and the client's address", async () => {
    const path = `/api/v1/channels/${general.id}/messages`;
    const expected = { token_id: token.id, user_id: bot.id, channel_id: general.id, address: from };
    const json = "Content-Type: application/json";
    const posted = await ask(from, `POST ${path}`, [bearer(token.token), json], '{"body":"hello"}');
    expect(posted.status).toBe(201);
    expect(await lineOf(posted)).toMatchObject(expected);
    for (const method of ["GET", "HEAD"]) {
      expect(await lineOf(await ask(from, `${method} ${path}`, [bearer(token.token)]))).toMatchObject(
        expected,
      );
    }
  });

  test("names the incoming webhook, its bot and its channel, and not its secret address", async () => {
    const line = await lineOf(
      await ask(from, `POST /webhooks/incoming/${webhook.token}`, [], '{"text":"hello"}'),
    );
    expect(line).toMatchObject({
      status: 202,
      webhook_id: webhook.id,
      user_id: bot.id,
      channel_id: general.id,
      address: from,
    });
    expect(JSON.stringify(line)).not.toContain(webhook.token);
  });

  test("of a subscription names it", async () => {
    const id = Bun.randomUUIDv7();
    const line = await lineOf(await ask(from, `DELETE /api/v1/webhooks/${id}`, [bearer(token.token)]));
    expect(line).toMatchObject({ status: 404, token_id: token.id, webhook_id: id });
  });

  test("names no token, user or secret where the credential is wrong", async () => {
    const wrong = newSecret("ply_bot_");
    const line = await lineOf(await ask(from, "GET /api/v1/channels", [bearer(wrong)]));
    expect(line.status).toBe(401);
    expect(callerIn(line)).toEqual({
      token_id: undefined,
      user_id: undefined,
      webhook_id: undefined,
      channel_id: undefined,
      address: from,
    });
    expect(JSON.stringify(line)).not.toContain(wrong);
  });

  test("has nothing of a path in place of an id", async () => {
    const path = `/api/v1/channels/${token.token}`;
    const line = await lineOf(await ask(from, `GET ${path}`, [bearer(token.token)]));
    expect(line).toMatchObject({ status: 404, token_id: token.id });
    expect(line.channel_id).toBeUndefined();
    expect(JSON.stringify(line)).not.toContain(token.token);
  });
});

describe("behind a trusted proxy", () => {
  const client = "192.0.2.7";

  test("the log has the client's address, also where a second proxy stands between", async () => {
    for (const forwarded of [client, `203.0.113.9, ${client}`, `${client}, 10.0.0.2`]) {
      const answer = await ask(proxy, "GET /healthz", [`X-Forwarded-For: ${forwarded}`]);
      expect((await lineOf(answer)).address).toBe(client);
    }
  });

  test("headers that came in several lines are read as one", async () => {
    const headers = ["X-Forwarded-For: 203.0.113.9", `X-Forwarded-For: ${client}, 10.0.0.2`];
    expect((await lineOf(await ask(proxy, "GET /healthz", headers))).address).toBe(client);
  });

  test("what anybody else says of themselves is not believed", async () => {
    const answer = await ask("127.0.3.2", "GET /healthz", [`X-Forwarded-For: ${client}`]);
    expect((await lineOf(answer)).address).toBe("127.0.3.2");
  });

  test("wrong credentials are counted by client and not by proxy", async () => {
    const guess = async (forwarded: string, count: number): Promise<Set<number>> => {
      const requests = Array.from({ length: count }, () =>
        requestText("GET /api/v1/channels HTTP/1.1", [
          "Host: a",
          bearer(newSecret("ply_pat_")),
          `X-Forwarded-For: ${forwarded}`,
        ]),
      );
      const answers = await exchangeAll(server.url, requests, proxy);
      return new Set(answers.map(({ status }) => status));
    };
    expect(await guess("198.51.100.1", 601)).toEqual(new Set([401, 429]));
    expect(await guess("198.51.100.2", 1)).toEqual(new Set([401]));
    const limited = await server.logLine(({ msg }) => msg === "credentials.limited");
    expect(limited.address).toBe("198.51.100.1");
  });
});
