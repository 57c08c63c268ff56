import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { engine } from "../support/engine.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { growthDuring, leastGrowth } from "./memory.ts";
import { expectNoFaults, linesUpToNow } from "./server-log.ts";
import { ask, asOurs, exchange, RawConnection, requestText } from "./raw-connection.ts";

const mebibyte = 1024 * 1024;
const chunked = "Transfer-Encoding: chunked";

let stage: Stage;
let member: ApiClient;
let authorization: string;
let messages: string;
let post: string;

beforeAll(async () => {
  stage = await startStage();
  const { token } = await stage.workspace.token(stage.cast.member);
  member = apiClient(stage.server.url, token);
  authorization = `Authorization: Bearer ${token}`;
  messages = `/channels/${stage.cast.open.id}/messages`;
  post = `POST /api/v1${messages} HTTP/1.1`;
});

afterAll(() => stage[Symbol.asyncDispose]());

function lengthOf(bytes: number): string {
  return `Content-Length: ${bytes}`;
}

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** A JSON body of exactly so many bytes, in which nothing is wrong but the length of the text. */
function bodyOfBytes(bytes: number): string {
  return JSON.stringify({ body: "a".repeat(bytes - '{"body":""}'.length) });
}

/** Writes the block over and over until the connection is closed or `mebibytes` of it have been written. */
async function flood(connection: RawConnection, block: string, mebibytes: number): Promise<void> {
  for (let sent = 0; sent < mebibytes * mebibyte && !connection.isClosed; sent += block.length) {
    if (!connection.write(block)) await connection.drained();
  }
}

/**
 * Posts with a body of which the block is the beginning, sees it refused, and sends 299 MiB more of it all the same. The
 * refusal does not wait for the body's end, and is looked for before the rest is sent: some ten seconds after it the
 * server closes the connection, whatever still comes, and who goes on writing then may lose what was not read before.
 */
async function floodPastRefusal(headers: string[], block: string, status: number): Promise<void> {
  using connection = new RawConnection(stage.server.url);
  connection.write(requestText(post, ["Host: a", ...headers], block));
  expect((await connection.waitForAnswers(1)).map((answer) => answer.status)).toEqual([status]);
  await flood(connection, block, 299);
}

/** On one connection: the request and its body in full, and then a GET. Returns both answers. */
async function thenGet(headers: string[], body: string) {
  using connection = new RawConnection(stage.server.url);
  connection.write(requestText(post, ["Host: a", ...headers], body));
  const [first] = await connection.waitForAnswers(1);
  connection.write(requestText("GET /api/v1/channels HTTP/1.1", ["Host: a", authorization]));
  const [, second] = await connection.waitForAnswers(2);
  if (!first || !second) throw new Error(`The connection was closed after ${connection.received}`);
  return [await asOurs(post, first), await asOurs("GET", second)] as const;
}

describe("a body", () => {
  test("of 1 MiB is read, and one byte more is refused in JSON, with or without a declared length", async () => {
    expect((await member.post(messages, bodyOfBytes(mebibyte))).status).toBe(422);
    expect((await member.post(messages, bodyOfBytes(mebibyte + 1))).status).toBe(413);
    for (const [bytes, status] of [
      [mebibyte, 422],
      [mebibyte + 1, 413],
    ] as const) {
      const body = `${chunkOf(bodyOfBytes(bytes).slice(0, 10))}${chunkOf(bodyOfBytes(bytes).slice(10))}0\r\n\r\n`;
      const headers = ["Host: a", authorization, chunked, "Connection: close"];
      const [answer] = await exchange(stage.server.url, requestText(post, headers, body));
      expect(answer?.status).toBe(status);
    }
  });

  test("that is too long leaves the connection open, so that the client can read the error", async () => {
    const body = "a".repeat(5 * mebibyte);
    const [told, after] = await thenGet([authorization, lengthOf(body.length)], body);
    expect([told.status, after.status]).toEqual([413, 200]);
    const [untold, afterwards] = await thenGet([authorization, chunked], `${chunkOf(body)}0\r\n\r\n`);
    expect([untold.status, afterwards.status]).toEqual([413, 200]);
  });

  test("that is too long by its declared length is refused at once", async () => {
    for (const bytes of [mebibyte + 1, 9_000_000_000, 9_000_000_000_000_000]) {
      using connection = new RawConnection(stage.server.url);
      connection.write(requestText(post, ["Host: a", authorization, lengthOf(bytes)]));
      const [answer] = await connection.waitForAnswers(1);
      if (!answer) throw new Error("There was no answer.");
      expect((await asOurs(post, answer)).status).toBe(413);
    }
  });

  test("without a token is refused for the missing token, whatever its length", async () => {
    const body = "a".repeat(2 * mebibyte);
    const [refused, after] = await thenGet([lengthOf(body.length)], body);
    expect([refused.status, after.status]).toEqual([401, 200]);
  });

  test("is not read on routes without one", async () => {
    const { id } = await stage.workspace.channel(stage.cast.member, "to be archived");
    const body = "not JSON, and not in our way";
    const archive = `POST /api/v1/channels/${id}/archive HTTP/1.1`;
    expect((await ask(stage.server.url, archive, [authorization], body)).status).toBe(200);
    expect((await ask(stage.server.url, "GET /api/v1/channels HTTP/1.1", [authorization], body)).status).toBe(
      200,
    );
  });

  test("is accepted after Expect: 100-continue", async () => {
    using connection = new RawConnection(stage.server.url);
    const body = JSON.stringify({ body: "hello" });
    connection.write(
      requestText(post, ["Host: a", authorization, "Expect: 100-continue", lengthOf(body.length)]),
    );
    const [interim] = await connection.waitForAnswers(1);
    expect(interim?.status).toBe(100);
    connection.write(body);
    const [, answer] = await connection.waitForAnswers(2);
    expect(answer?.status).toBe(201);
  });
});

describe("memory", () => {
  test("is not used by bodies that nobody reads", async () => {
    const growth = await leastGrowth(50, () =>
      growthDuring(stage.server.pid, async () => {
        for (const [header, block] of [
          [lengthOf(300 * mebibyte), "a".repeat(mebibyte)],
          [chunked, chunkOf("a".repeat(mebibyte))],
        ] as const) {
          await floodPastRefusal([header], block, 401);
        }
      }),
    );
    expect(growth).toBeLessThan(50);
  });

  test("is not used by a body that never ends", async () => {
    const growth = await leastGrowth(50, () =>
      growthDuring(stage.server.pid, async () => {
        await floodPastRefusal([authorization, chunked], chunkOf("a".repeat(mebibyte + 1)), 413);
      }),
    );
    expect(growth).toBeLessThan(50);
  });

  test("is not used by bodies that come in tiny chunks", async () => {
    const crumbs = chunkOf("a").repeat(mebibyte / 2);
    const headers = ["Host: a", authorization, chunked, "Connection: close"];
    const growth = await leastGrowth(100, () =>
      growthDuring(stage.server.pid, async () => {
        const attacks = Array.from({ length: 5 }, () =>
          exchange(stage.server.url, requestText(post, headers, `${crumbs}0\r\n\r\n`)),
        );
        // On PostgreSQL the chunks wait for the token's look-up, and are read together.
        const statuses = engine === "sqlite" ? [400] : [400, 422];
        for (const [answer] of await Promise.all(attacks)) expect(statuses).toContain(answer?.status ?? 0);
      }),
    );
    expect(growth).toBeLessThan(100);
  });
});

describe("a client that disconnects", () => {
  test.each([
    ["inside of the body", lengthOf(100), '{"body": "broken off'],
    ["before the body", lengthOf(100), ""],
    ["inside of a chunk", chunked, '64\r\n{"body": "broken off'],
    ["between two chunks", chunked, chunkOf('{"body": "broken off"}')],
  ])("%s has posted nothing, and it is no internal error", async (_where, header, body) => {
    const { length: before } = await linesUpToNow(stage.server);
    using connection = new RawConnection(stage.server.url);
    connection.write(requestText(post, ["Host: a", authorization, header], body));
    connection.end();
    await connection.closed;
    const line = await until("the log tells of it", () =>
      stage.server
        .logLines()
        .slice(before)
        .find((line) => line.includes('"POST"')),
    );
    expect(JSON.parse(line)).toMatchObject({ route: "/api/v1/channels/:channel/messages", status: 400 });
    expect((await member.get(messages)).text).not.toContain("broken off");
  });
});

describe("the type of a body", () => {
  test.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ])("may be %s", async (type) => {
    expect((await member.post(messages, { body: "hello" }, { "content-type": type })).status).toBe(201);
  });

  test("may be left out", async () => {
    expect((await ask(stage.server.url, post, [authorization], '{"body": "hello"}')).status).toBe(201);
  });

  test.each([
    "text/plain",
    "text/json",
    "application/scim+json",
    "application/jsonp",
    "application/json, text/plain",
    "application/json; charset=utf-16",
    "application/json; charset=iso-8859-1",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/octet-stream",
    ";",
    "\u00ff/\u00ff",
    "a".repeat(5_000),
  ])("cannot be %p", async (type) => {
    const answer = await ask(
      stage.server.url,
      post,
      [authorization, `Content-Type: ${type}`],
      '{"body": "hello"}',
    );
    expect(answer.status).toBe(415);
  });

  test.each(["gzip", "deflate", "br", "zstd", "identity, gzip", "x", "GZIP"])(
    "cannot be compressed: %s",
    async (encoding) => {
      const body = Bun.gzipSync(JSON.stringify({ body: "hello" }));
      expect((await member.post(messages, body, { "content-encoding": encoding })).status).toBe(415);
      // Its length is that of something else: it is not read.
      const large = "x".repeat(2 * 1024 * 1024);
      expect((await member.post(messages, large, { "content-encoding": encoding })).status).toBe(415);
    },
  );
});

test("left no internal error in the log", () => expectNoFaults(stage.server));
