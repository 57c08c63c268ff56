import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hashOf, newSecret } from "../../src/secrets/secret-text.ts";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { engine } from "../support/engine.ts";
import { apiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { actor } from "../support/workspace.ts";
import { growthAfter, leastGrowth } from "./memory.ts";
import { expectNoFaults } from "./server-log.ts";
import { ask, exchange, exchangeAll, RawConnection, requestText } from "./raw-connection.ts";

const get = "GET /api/v1/channels HTTP/1.1";

let stage: Stage;
let token: string;

beforeAll(async () => {
  stage = await startStage();
  ({ token } = await stage.workspace.token(stage.cast.member));
});

afterAll(() => stage[Symbol.asyncDispose]());

/** The token with another last character, which breaks its checksum. */
function misspelled(): string {
  return token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
}

describe("a request without a valid token is always refused in the same way", () => {
  const ways: Record<string, () => string[]> = {
    "no header": () => [],
    "an empty header": () => ["Authorization:"],
    "the scheme alone": () => ["Authorization: Bearer"],
    "the scheme and spaces": () => ["Authorization: Bearer    "],
    "the token alone": () => [`Authorization: ${token}`],
    "a token of three letters": () => ["Authorization: Bearer abc"],
    "an unknown token of the right form": () => [`Authorization: Bearer ${newSecret("ply_pat_")}`],
    "an unknown token of another kind": () => [`Authorization: Bearer ${newSecret("ply_bot_")}`],
    "a signing secret": () => [`Authorization: Bearer ${newSecret("whsec_")}`],
    "the hash of a token": () => [`Authorization: Bearer ${hashOf(token)}`],
    "a token with another last character": () => [`Authorization: Bearer ${misspelled()}`],
    "a token cut short": () => [`Authorization: Bearer ${token.slice(0, -1)}`],
    "a token and more": () => [`Authorization: Bearer ${token}x`],
    "a token and a word": () => [`Authorization: Bearer ${token} x`],
    "a token and a comma": () => [`Authorization: Bearer ${token},`],
    "a token in quotes": () => [`Authorization: Bearer "${token}"`],
    "a token in capitals": () => [`Authorization: Bearer ${token.toUpperCase()}`],
    "a token in base64": () => [`Authorization: Bearer ${btoa(token)}`],
    "a token after a tab": () => [`Authorization: Bearer\t${token}`],
    "a token after a no-break space": () => [`Authorization: Bearer\u00a0${token}`],
    "a token after an equals sign": () => [`Authorization: Bearer=${token}`],
    "a token under another scheme": () => [`Authorization: Token ${token}`],
    "a token as a password": () => [`Authorization: Basic ${btoa(`x:${token}`)}`],
    "a token after two schemes": () => [`Authorization: Bearer Bearer ${token}`],
    "the token in two headers": () => Array.from({ length: 2 }, () => `Authorization: Bearer ${token}`),
    "a valid token after a wrong one": () => ["Authorization: Bearer x", `Authorization: Bearer ${token}`],
    "letters beyond ASCII": () => ["Authorization: Bearer \u00e9\u{1F600}"],
    SQL: () => ["Authorization: Bearer 'OR'1'='1"],
    "a pattern": () => ["Authorization: Bearer ply_pat_%"],
    "10 KB": () => [`Authorization: Bearer ply_pat_${"a".repeat(10_000)}`],
    "10 KB of spaces": () => [`Authorization: Bearer ${" ".repeat(10_000)}x y`],
    "the token in a header of its own": () => [`X-Api-Key: ${token}`, `Proxy-Authorization: Bearer ${token}`],
    "the token in a cookie": () => [`Cookie: Authorization=Bearer ${token}; token=${token}`],
  };

  test.each(Object.entries(ways))("%s", async (_way, headersOf) => {
    const { status, headers, text } = await ask(stage.server.url, get, headersOf());
    expect(status).toBe(401);
    expect(text).toBe('{"message":"Send a valid token as Authorization: Bearer <ACCESS_TOKEN>."}');
    expect(headers.get("www-authenticate")).toBe('Bearer realm="parley"');
    expect(headers.has("x-ratelimit-limit")).toBe(false);
  });

  test("the token in the URL, under any parameter name that other services use", async () => {
    for (const name of ["access_token", "token", "bearer", "authorization", "api_key", "Authorization"]) {
      const line = `GET /api/v1/channels?${name}=${token}&${name}=Bearer%20${token} HTTP/1.1`;
      expect((await ask(stage.server.url, line)).status).toBe(401);
    }
    const inHost = await exchange(
      stage.server.url,
      requestText(`GET http://bearer:${token}@localhost/api/v1/channels HTTP/1.1`, [
        "Host: a",
        "Connection: close",
      ]),
    );
    expect(inHost.map(({ status }) => status)).toEqual([401]);
  });

  test("the token in the body", async () => {
    const body = JSON.stringify({ access_token: token, name: "x", visibility: "public" });
    expect((await ask(stage.server.url, "POST /api/v1/channels HTTP/1.1", [], body)).status).toBe(401);
  });
});

test("a malformed header is refused by the parser", async () => {
  for (const value of ["a".repeat(100_000), `${token}\0`, `\0${token}`]) {
    const request = requestText(get, ["Host: a", `Authorization: Bearer ${value}`, "Connection: close"]);
    const answers = await exchange(stage.server.url, request);
    expect(answers.map(({ status }) => status)).toEqual([value.length > 1_000 ? 431 : 400]);
  }
});

test("a token is accepted in any case of its scheme, whatever other headers name", async () => {
  for (const scheme of ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "]) {
    const headers = [
      `Authorization: ${scheme} ${token}`,
      "X-Forwarded-User: root",
      "X-Remote-User: root",
      "From: root",
    ];
    expect((await ask(stage.server.url, get, headers)).status).toBe(200);
  }
});

test("a revoked token stops working in the middle of a stream of requests on one connection", async () => {
  const { workspace, cast } = stage;
  const victim = await workspace.token(cast.member);
  using connection = new RawConnection(stage.server.url);
  const request = requestText(get, ["Host: a", `Authorization: Bearer ${victim.token}`]);
  for (let count = 1; count <= 6; count++) {
    if (count === 4) await workspace.database.write((tx) => revokeToken(tx, cast.teamId, victim.id, actor));
    connection.write(request);
    await connection.waitForAnswers(count);
  }
  expect(connection.answers().map(({ status }) => status)).toEqual([200, 200, 200, 401, 401, 401]);
});

describe("guessing tokens", () => {
  let guessers = 0;

  /**
   * Sends so many requests with tokens that nobody has, many at a time, from another address each time:
   * of those from one address 600 in a minute are told 401, and the others 429.
   */
  async function guess(count: number): Promise<void> {
    const atOnce = 1_000;
    for (let sent = 0; sent < count; sent += atOnce) {
      const requests = Array.from({ length: atOnce }, (_, index) => {
        const authorization = `Authorization: Bearer ${newSecret(index % 2 === 0 ? "ply_bot_" : "ply_pat_")}`;
        return requestText(get, ["Host: a", authorization]);
      });
      const answers = await exchangeAll(
        stage.server.url,
        requests,
        `127.0.${2 + (++guessers >> 8)}.${guessers & 255}`,
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(600);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(atOnce - 600);
    }
  }

  test("a hundred thousand times leaves nothing in memory and does not affect a valid token", async () => {
    // On PostgreSQL each is a look-up over the network.
    const [before, after] = engine === "sqlite" ? [20_000, 80_000] : [5_000, 15_000];
    await guess(before);
    const growth = await leastGrowth(24, () => growthAfter(stage.server.pid, () => guess(after)));
    expect(growth).toBeLessThan(24);
    expect((await apiClient(stage.server.url, token).get("/channels")).status).toBe(200);
  }, 60_000);
});

describe("the rate limit of a token", () => {
  test("is not lifted by a header with another client, host or token", async () => {
    await using strict = await startStage({ INTEGRATIONS_API_RATE_LIMIT: "3" });
    const limited = await strict.workspace.token(strict.cast.member);
    const statuses = [];
    for (let request = 0; request < 6; request++) {
      const { status } = await ask(strict.server.url, get, [
        `Host: host-${request}.example`,
        `Authorization: ${request % 2 === 0 ? "Bearer" : "bearer "} ${limited.token}`,
        `X-Forwarded-For: 192.0.2.${request}`,
        `X-Real-IP: 192.0.2.${request}`,
        `Forwarded: for=192.0.2.${request}`,
        `True-Client-IP: 192.0.2.${request}`,
        `X-Api-Key: ${newSecret("ply_pat_")}`,
        `User-Agent: agent-${request}`,
      ]);
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  });

  test("counts a request whatever its outcome", async () => {
    await using strict = await startStage({ INTEGRATIONS_API_RATE_LIMIT: "3" });
    const limited = await strict.workspace.token(strict.cast.member, "channels:write");
    const client = apiClient(strict.server.url, limited.token);
    const answers = [
      await client.post("/channels", "[".repeat(100_000)),
      await client.post("/channels", "a".repeat(2 * 1024 * 1024)),
      await client.get("/channels"),
      await client.post("/channels", { name: "late", visibility: "public" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 413, 403, 429]);
  });
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
