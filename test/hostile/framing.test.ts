import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MessagePage } from "../../src/messages/schemas.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { ask, exchange, RawConnection, requestText } from "./raw-connection.ts";

let stage: Stage;
let authorization: string;
let messages: string;

beforeAll(async () => {
  stage = await startStage();
  const { token } = await stage.workspace.token(stage.cast.member);
  authorization = `Authorization: Bearer ${token}`;
  messages = `/api/v1/channels/${stage.cast.open.id}/messages`;
});

afterAll(() => stage[Symbol.asyncDispose]());

/** A whole request that posts a message with this text. */
function post(text: string): string {
  const body = JSON.stringify({ body: text });
  return requestText(
    `POST ${messages} HTTP/1.1`,
    ["Host: a", authorization, `Content-Length: ${body.length}`],
    body,
  );
}

/** The bodies of the messages that stand in the channel. */
async function postedBodies(): Promise<string[]> {
  const { json } = await (
    await stage.as(stage.cast.member)
  ).get<MessagePage>(`/channels/${stage.cast.open.id}/messages`);
  return json.data.map(({ body }) => body);
}

const chunked = "Transfer-Encoding: chunked";

describe("a request whose end can be read in two ways", () => {
  test.each([
    ["a length and chunks", ["Content-Length: 5", chunked], "0\r\n\r\n"],
    ["chunks and a length", [chunked, "Content-Length: 5"], "0\r\n\r\n"],
    ["two different lengths", ["Content-Length: 0", "Content-Length: 5"], ""],
    ["two lengths in a list", ["Content-Length: 0, 5"], ""],
    ["a length with a sign", ["Content-Length: +0"], ""],
    ["a negative length", ["Content-Length: -1"], ""],
    ["a length in hex", ["Content-Length: 0x0"], ""],
    ["a length with an exponent", ["Content-Length: 0e1"], ""],
    ["a length of 2^64", ["Content-Length: 18446744073709551616"], ""],
    ["an unknown coding", ["Transfer-Encoding: xchunked"], "0\r\n\r\n"],
    ["chunks inside of chunks", ["Transfer-Encoding: chunked, chunked"], "0\r\n\r\n"],
    ["chunks that are not last", ["Transfer-Encoding: chunked, identity"], "0\r\n\r\n"],
    ["compressed chunks", ["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"],
    ["two codings in two headers", [chunked, "Transfer-Encoding: identity"], "0\r\n\r\n"],
    ["a coding before a vertical tab", ["Transfer-Encoding: \vchunked"], "0\r\n\r\n"],
    ["a space before the colon", ["Transfer-Encoding : chunked"], "0\r\n\r\n"],
    ["a folded header", ["X-Folded: a", " Transfer-Encoding: chunked"], "0\r\n\r\n"],
    ["a chunk without a size", [chunked], "\r\n\r\n"],
    ["a chunk size that is no number", [chunked], "zz\r\n\r\n0\r\n\r\n"],
    ["a negative chunk size", [chunked], "-1\r\n\r\n0\r\n\r\n"],
    ["a chunk size of 2^64 and more", [chunked], "fffffffffffffffff\r\n\r\n"],
    ["a chunk that is longer than it says", [chunked], "1\r\nabc\r\n0\r\n\r\n"],
    ["chunks ended by a line feed alone", [chunked], "0\n\n"],
    ["a NUL in a header", ["X-Nul: a\0b"], ""],
    ["a carriage return in a header", ["X-Return: a\rContent-Length: 5"], ""],
  ])("is refused, and the bytes after it are not run: %s", async (name, headers, body) => {
    const text = `smuggled by ${name}`;
    const attack = requestText(
      `POST ${messages} HTTP/1.1`,
      ["Host: a", authorization, ...headers],
      body + post(text),
    );
    const answers = await exchange(stage.server.url, attack);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(await postedBodies()).not.toContain(text);
  });

  test("is refused with bare line feeds as line ends", async () => {
    const attack = `POST ${messages} HTTP/1.1\nHost: a\n${authorization}\n\n${post("smuggled by line feeds")}`;
    const answers = await exchange(stage.server.url, attack);
    expect(answers.every(({ status }) => status === 400 || status === 505)).toBe(true);
    expect(await postedBodies()).not.toContain("smuggled by line feeds");
  });

  test("is not one with the same length twice: it ends where both say", async () => {
    const body = '{"body": "said twice"}';
    const length = `Content-Length: ${body.length}`;
    const answer = await ask(stage.server.url, `POST ${messages} HTTP/1.1`, [authorization, length], body);
    expect(answer.status).toBe(201);
    expect(await postedBodies()).toContain("said twice");
  });
});

describe("a request that the parser refuses", () => {
  test.each([
    ["an unknown method", "BREW /api/v1/channels HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a method in lower case", "get /api/v1/channels HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a handshake of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["an asterisk for an address", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a space in the address", "GET /api/v1/channels x HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["HTTP/1.1 without a host", "GET /api/v1/channels HTTP/1.1\r\n\r\n"],
    ["an unknown version", "GET /api/v1/channels HTTP/9.9\r\nHost: a\r\n\r\n"],
    ["a header of 100 KB", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
    ["an address of 100 KB", `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ["500 headers", `GET / HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(500)}\r\n`],
  ])("gets a short response or none, and the connection is closed: %s", async (_name, bytes) => {
    const answers = await exchange(stage.server.url, bytes);
    for (const { status } of answers) expect([400, 414, 431, 505]).toContain(status);
    expect(answers.length).toBeLessThanOrEqual(1);
  });
});

test("requests on one connection get their responses in order", async () => {
  using connection = new RawConnection(stage.server.url);
  for (const [count, text] of ["one", "two", "three"].entries()) {
    connection.write(post(text));
    const answers = await connection.waitForAnswers(count + 1);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count + 1 }, () => 201));
  }
  expect(await postedBodies()).toEqual(expect.arrayContaining(["one", "two", "three"]));
});
