import { beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { send, type SendOutcome } from "../../src/outbound/send.ts";
import { until } from "../support/conditions.ts";
import { answering, dripping, flooding, rawReceiver } from "../support/receivers/raw-receiver.ts";

const timeoutMs = 300;
/** What a busy machine may add to the timeout. */
const slackMs = 1_000;
const mebibyte = 1024 * 1024;

type Behaviour = (socket: Socket) => void;
const ok = "HTTP/1.1 200 OK\r\n";
const eightGiB = `Content-Length: ${8 * 1024 * mebibyte}\r\n`;
const chunk = "x".repeat(64 * 1024);

const timedOut: [what: string, behave: Behaviour][] = [
  ["never answers", () => {}],
  ["drips its status line", dripping("H", "T")],
  ["drips its headers", dripping(ok, "X-Drop: x\r\n")],
  ["sends interim answers for ever", flooding("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(100))],
  ["drips interim answers", dripping("", "HTTP/1.1 103 Early Hints\r\n\r\n")],
  ["sends a line of text and waits", answering("hello\r\n")],
];

const answered: [what: string, behave: Behaviour, excerpt: string | RegExp][] = [
  ["never sends the body it promised", answering(`${ok}${eightGiB}\r\n`), ""],
  ["stops in the middle of its body", answering(`${ok}Content-Length: 100\r\n\r\nshort`), "short"],
  ["drips its body", dripping(`${ok}${eightGiB}\r\n`, "."), /^\.+$/],
  [
    "drips chunks with long extensions",
    dripping(`${ok}Transfer-Encoding: chunked\r\n\r\n`, `1;${chunk.slice(0, 999)}\r\n.\r\n`),
    /^\.+$/,
  ],
  [
    "sends a body of gigabytes",
    flooding(`${ok}Content-Length: ${4 * 1024 * mebibyte}\r\n\r\n`, chunk),
    "x".repeat(1024),
  ],
  ["sends a body without end", flooding(`${ok}\r\n`, chunk), "x".repeat(1024)],
  [
    "sends chunks without end",
    flooding(`${ok}Transfer-Encoding: chunked\r\n\r\n`, `10000\r\n${chunk}\r\n`),
    "x".repeat(1024),
  ],
  ["sends a broken chunk", answering(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), ""],
  [
    "sends a chunk size past all numbers",
    answering(`${ok}Transfer-Encoding: chunked\r\n\r\n${"f".repeat(40)}\r\n`),
    "",
  ],
  [
    "closes in the middle of its body",
    (socket) => socket.once("data", () => socket.end(`${ok}Content-Length: 100\r\n\r\nshort`)),
    /^(?:short)?$/,
  ],
  [
    "says both length and chunked",
    answering(`${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    "",
  ],
  ["ends its lines with a line feed only", answering("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), "ok"],
  [
    "names an encoding that its body does not have",
    answering(`${ok}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok`),
    "ok",
  ],
  [
    "sends a second answer behind the first",
    answering(`${ok}Content-Length: 2\r\n\r\nokHTTP/1.1 500 \r\n\r\n`),
    "ok",
  ],
];

const malformed: [what: string, answer: string | Behaviour][] = [
  ["another protocol", "220 mail.receiver.test ESMTP\r\n\r\n"],
  ["HTTP/2 in words", "HTTP/2 200 OK\r\n\r\n"],
  ["HTTP/9.9", "HTTP/9.9 200 OK\r\n\r\n"],
  ["HTTP in lower case", "http/1.1 200 OK\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status that is negative", "HTTP/1.1 -20 OK\r\n\r\n"],
  ["a status in letters", "HTTP/1.1 abc OK\r\n\r\n"],
  ["status 000", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n"],
  ["status 099 and a body without end", `HTTP/1.1 099 OK\r\n${eightGiB}\r\n`],
  [
    "status 101 that nobody asked for",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ],
  ["a negative length", `${ok}Content-Length: -5\r\n\r\n`],
  ["a signed length", `${ok}Content-Length: +2\r\n\r\nok`],
  ["two lengths that differ", `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`],
  ["a header without a name", `${ok}: x\r\n\r\n`],
  ["a NUL in a header", `${ok}X: a\0b\r\n\r\n`],
  ["headers without end", flooding(ok, "X: y\r\n".repeat(1000))],
  ["a header without end", flooding(`${ok}X: `, chunk)],
];

const reset: [what: string, behave: Behaviour][] = [
  ["resets the connection when it opens", (socket) => socket.resetAndDestroy()],
  ["closes the connection when it opens", (socket) => socket.end()],
  ["resets the connection after reading", (socket) => socket.once("data", () => socket.resetAndDestroy())],
  ["closes the connection after reading", (socket) => socket.once("data", () => socket.end())],
  [
    "closes the connection within its headers",
    (socket) => socket.once("data", () => socket.end(`${ok}Content-`)),
  ],
  ["answers in HTTP/0.9", (socket) => socket.once("data", () => socket.end("<p>hello</p>\n"))],
];

/** Sends to such a receiver, and sees to it that there was one connection, that it is closed, and that memory stayed bounded. */
async function sendTo(behave: Behaviour, protocol = "http"): Promise<SendOutcome> {
  await using receiver = await rawReceiver(behave);
  const startedAt = performance.now();
  const outcome = await send({
    url: new URL(`${protocol}://receiver.test:${receiver.port}/`),
    addresses: ["127.0.0.1"],
    body: "{}",
    headers: {},
    timeoutMs,
  });
  expect(performance.now() - startedAt).toBeLessThan(timeoutMs + slackMs);
  expect(receiver.connections()).toBe(1);
  expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(50 * mebibyte);
  await until("the connection is closed", () => receiver.openConnections() === 0);
  return outcome;
}

let rssBefore = Number.POSITIVE_INFINITY;

describe("a receiver", () => {
  beforeAll(async () => {
    await sendTo(answering(`${ok}Content-Length: 2\r\n\r\nok`));
    Bun.gc(true);
    rssBefore = process.memoryUsage.rss();
  });

  test.each(timedOut)("that %s is cut off at the timeout", async (_, behave) => {
    const startedAt = performance.now();
    expect(await sendTo(behave)).toEqual({ kind: "timed_out" });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(timeoutMs - 5);
  });

  test.each(answered)("that %s counts as having answered", async (_, behave, expected) => {
    const outcome = await sendTo(behave);
    expect(outcome).toMatchObject({ kind: "answered", status: 200 });
    const excerpt = outcome.kind === "answered" ? Buffer.from(outcome.excerpt).toString() : "";
    if (typeof expected === "string") expect(excerpt).toBe(expected);
    else expect(excerpt).toMatch(expected);
  });

  test.each(malformed)("that sends %s is malformed", async (_, answer) => {
    const outcome = await sendTo(typeof answer === "string" ? answering(answer) : answer);
    expect(outcome).toMatchObject({
      kind: "unreachable",
      error: "malformed HTTP response",
    });
  });

  test.each(reset)("that %s is reset, and gets no second POST", async (_, behave) => {
    expect(await sendTo(behave)).toMatchObject({ kind: "unreachable", error: "connection reset" });
  });

  test.each([
    ["gzip", gzipSync(Buffer.alloc(64 * mebibyte))],
    ["br", brotliCompressSync(Buffer.alloc(64 * mebibyte))],
  ])("that sends a bomb of %s is read as the bytes that it sent", async (encoding, bomb) => {
    const head = `${ok}Content-Encoding: ${encoding}\r\nContent-Length: ${bomb.byteLength}\r\n\r\n`;
    const outcome = await sendTo(answering(Buffer.concat([Buffer.from(head), bomb])));
    expect(outcome.kind === "answered" && outcome.excerpt).toEqual(bomb.subarray(0, 1024));
  });

  test("that never finishes the TLS handshake is cut off at the timeout", async () => {
    expect(await sendTo(() => {}, "https")).toMatchObject({ kind: "timed_out" });
  });

  test("that resets the TLS handshake is reset", async () => {
    const behave: Behaviour = (socket) => socket.once("data", () => socket.resetAndDestroy());
    expect(await sendTo(behave, "https")).toMatchObject({ kind: "unreachable", error: "connection reset" });
  });

  test("that speaks plain HTTP instead of TLS is recognised", async () => {
    const outcome = await sendTo(answering("HTTP/1.1 400 Bad Request\r\n\r\n"), "https");
    expect(outcome).toMatchObject({ kind: "unreachable", error: "TLS handshake failed" });
  });
});

describe("what will not be read", () => {
  test.each([
    ["a body past 64 KiB", flooding(`${ok}\r\n`, chunk)],
    ["the body of an answer that is none", answering(`HTTP/1.1 099 OK\r\n${eightGiB}\r\n`)],
  ])("is cut off at once: %s", async (_, behave) => {
    await using receiver = await rawReceiver(behave);
    const url = new URL(`http://receiver.test:${receiver.port}/`);
    const startedAt = performance.now();
    await send({ url, addresses: ["127.0.0.1"], body: "{}", headers: {}, timeoutMs: 10_000 });
    // Sooner than the collector of garbage would come by and close the connection.
    await until("the connection is closed", () => receiver.openConnections() === 0, { timeout_ms: 500 });
    expect(performance.now() - startedAt).toBeLessThan(slackMs);
  });
});
