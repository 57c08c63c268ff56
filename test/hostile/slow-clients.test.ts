import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { apiClient } from "../support/client.ts";
import { type Stage, startStage } from "../support/stage.ts";
import { residentMiB } from "./memory.ts";
import { expectNoFaults } from "./server-log.ts";
import { asOurs, RawConnection, requestText } from "./raw-connection.ts";

/** The server gives a connection 10 seconds, and looks at it every 4. */
const patience_ms = 16_000;
const dripEvery_ms = 500;
const halfOpenCount = 2_000;

const get = "GET /api/v1/channels HTTP/1.1";
const length = "Content-Length: 100000";
const chunked = "Transfer-Encoding: chunked";

let stage: Stage;
let token: string;
let messages: string;
let mebibytesBefore: number;
let dripping: ReturnType<typeof setInterval>;
const halfOpen: RawConnection[] = [];

/** The head of a request that posts a message. */
function post(...headers: string[]): string {
  return requestText(`POST /api/v1${messages} HTTP/1.1`, ["Host: a", ...headers]);
}

function authorization(): string {
  return `Authorization: Bearer ${token}`;
}

/** What slow clients send at first, and then over and over. */
const slowClients = [
  { what: "says nothing", first: () => "", drip: "" },
  { what: "never ends a header", first: () => `${get}\r\nHost: a\r\nX: `, drip: "x" },
  { what: "never ends its headers", first: () => `${get}\r\nHost: a\r\n`, drip: "X: y\r\n" },
  { what: "announces a body and sends none", first: () => post(authorization(), length), drip: "" },
  { what: "sends its body byte by byte", first: () => post(authorization(), length), drip: "x" },
  { what: "sends chunks of one byte", first: () => post(authorization(), chunked), drip: "1\r\nx\r\n" },
  { what: "goes on with a body that was refused", first: () => post(length), drip: "x" },
  { what: "does not use its connection", first: () => requestText(get, ["Host: a"]), drip: "" },
].map((client) => ({ ...client, connection: undefined as RawConnection | undefined }));

function open(first: string): RawConnection {
  const connection = new RawConnection(stage.server.url);
  connection.write(first);
  return connection;
}

beforeAll(async () => {
  stage = await startStage();
  ({ token } = await stage.workspace.token(stage.cast.member));
  messages = `/channels/${stage.cast.open.id}/messages`;
  await apiClient(stage.server.url, token).get(messages);
  mebibytesBefore = residentMiB(stage.server.pid);

  for (const client of slowClients) client.connection = open(client.first());
  dripping = setInterval(() => {
    for (const { drip, connection } of slowClients) if (drip !== "") connection?.write(drip);
  }, dripEvery_ms);
  for (let index = 0; index < halfOpenCount; index++) {
    halfOpen.push(open(slowClients[index % slowClients.length]?.first() ?? ""));
  }
});

afterAll(async () => {
  clearInterval(dripping);
  for (const { connection } of slowClients) connection?.[Symbol.dispose]();
  for (const connection of halfOpen) connection[Symbol.dispose]();
  await stage[Symbol.asyncDispose]();
});

test("other clients are served while 2,000 connections are half open, at little cost", async () => {
  const client = apiClient(stage.server.url, token);
  for (let request = 0; request < 20; request++) {
    expect((await client.post(messages, { body: "in between" })).status).toBe(201);
    expect((await client.get(messages)).status).toBe(200);
  }
  expect(halfOpen.filter(({ isClosed }) => isClosed)).toEqual([]);
  expect(residentMiB(stage.server.pid) - mebibytesBefore).toBeLessThan(100);
});

describe("a connection is closed whose client", () => {
  test.each(slowClients)(
    "$what",
    async ({ what, connection }) => {
      await connection?.closed;
      for (const answer of connection?.answers() ?? []) {
        expect((await asOurs(what, answer)).status).toBe(401);
      }
    },
    patience_ms,
  );
});

test(
  "no half-open connection is left, nothing was posted, and there was no internal error",
  async () => {
    await Promise.all(halfOpen.map(({ closed }) => closed));
    expect((await apiClient(stage.server.url, token).get(messages)).text).not.toContain("xx");
    await expectNoFaults(stage.server);
  },
  patience_ms,
);
