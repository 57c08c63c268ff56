import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { attempt } from "../../src/deliveries/attempt.ts";
import { prepare } from "../../src/deliveries/prepare.ts";
import { send, type SendOutcome } from "../../src/outbound/send.ts";
import { until } from "../support/conditions.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { type Authority, createAuthority, type KeyPair } from "./certificates.ts";
import { answerTo, lastingReceiver } from "../support/receivers/lasting-receiver.ts";

let folder: TemporaryFolder;
let authority: Authority;
let pair: KeyPair;

beforeAll(() => {
  folder = temporaryFolder();
  authority = createAuthority(folder.path);
  pair = authority.issue("DNS:receiver.test");
});

afterAll(() => folder[Symbol.dispose]());

function deliver(port: number, { timeoutMs = 2_000 } = {}): Promise<SendOutcome> {
  const url = new URL(`https://receiver.test:${port}/`);
  return send({ url, addresses: ["127.0.0.1"], body: "{}", headers: {}, timeoutMs, ca: authority.ca });
}

const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
const reset = { kind: "unreachable", error: "connection reset" };

describe("a kept connection", () => {
  test("that the receiver has closed loses no delivery", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) => socket.end(answerTo(arrival)));
    for (let n = 0; n < 20; n++) expect(await deliver(receiver.port)).toMatchObject({ status: 200 });
  });

  test("that breaks during a delivery has it sent once more, over a new one", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      arrival.nth === 1 ? socket.write(answerTo(arrival)) : socket.destroy(),
    );
    await deliver(receiver.port);
    expect(await deliver(receiver.port)).toMatchObject({ kind: "answered", status: 200 });
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  test("that breaks never has a delivery sent a third time", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      receiver.arrivals().length === 1 ? socket.write(answerTo(arrival)) : socket.destroy(),
    );
    await deliver(receiver.port);
    expect(await deliver(receiver.port)).toMatchObject(reset);
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  test("that breaks late leaves the rest of the timeout for the second try", async () => {
    // Long, so that a busy machine does not take the difference between one timeout and one and a half.
    const timeoutMs = 2_000;
    await using receiver = await lastingReceiver(pair, (socket, arrival) => {
      if (receiver.arrivals().length === 1) socket.write(answerTo(arrival));
      else if (arrival.connection === 1) setTimeout(() => socket.destroy(), timeoutMs / 2);
    });
    await deliver(receiver.port);
    const startedAt = performance.now();
    expect(await deliver(receiver.port, { timeoutMs })).toEqual({ kind: "timed_out" });
    expect(performance.now() - startedAt).toBeLessThan(timeoutMs * 1.4);
    expect(receiver.arrivals()).toHaveLength(3);
  });

  test.each([
    ["hangs", "", { kind: "timed_out" }],
    [
      "answers nonsense",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      { kind: "unreachable", error: "malformed HTTP response" },
    ],
    ["fails", "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n", { kind: "answered", status: 500 }],
  ])("that %s has no delivery sent again", async (_, answer, outcome) => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      socket.write(arrival.nth === 1 ? answerTo(arrival) : answer),
    );
    await deliver(receiver.port);
    expect(await deliver(receiver.port, { timeoutMs: 300 })).toMatchObject(outcome);
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1]);
  });
});

describe("a new connection", () => {
  test("that breaks has its delivery sent once, each time", async () => {
    await using receiver = await lastingReceiver(pair, (socket) => socket.destroy());
    for (let n = 1; n <= 3; n++) {
      expect(await deliver(receiver.port)).toMatchObject(reset);
      expect(receiver.arrivals()).toHaveLength(n);
    }
  });

  test("that replaces a closed one and breaks has its delivery sent once", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      arrival.connection === 1 ? socket.end(answerTo(arrival)) : socket.destroy(),
    );
    await deliver(receiver.port);
    await until("both sides have closed it", () => receiver.openConnections() === 0);
    expect(await deliver(receiver.port)).toMatchObject(reset);
    expect(receiver.arrivals()).toHaveLength(2);
  });
});

describe("an unrequested response", () => {
  test("after another one is not taken for that of the next delivery", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      socket.write(`${answerTo(arrival)}${forged}`),
    );
    expect(await excerptOf(deliver(receiver.port))).toBe("1.1");
    expect(await excerptOf(deliver(receiver.port))).toBe("2.1");
  });

  test("after a chunked one is not either", async () => {
    await using receiver = await lastingReceiver(pair, (socket, { connection, nth }) =>
      socket.write(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n${connection}.${nth}\r\n0\r\n\r\n${forged}`,
      ),
    );
    expect(await excerptOf(deliver(receiver.port))).toBe("1.1");
    expect(await excerptOf(deliver(receiver.port))).toMatch(/^(1\.2|2\.1)$/);
  });

  test("closes an idle connection", async () => {
    const { promise: resting, resolve } = Promise.withResolvers<() => void>();
    await using receiver = await lastingReceiver(pair, (socket, arrival) => {
      socket.write(answerTo(arrival));
      resolve(() => socket.write(forged));
    });
    await deliver(receiver.port);
    (await resting)();
    await until("it is closed", () => receiver.openConnections() === 0);
    expect(await excerptOf(deliver(receiver.port))).toBe("2.1");
  });
});

test("the address is checked before each attempt, even if a connection is kept", async () => {
  await using receiver = await lastingReceiver(pair);
  const answers = [["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]];
  const resolve = async () => answers.shift() ?? [];
  const outgoing = {
    guard: { blockPrivate: true, allow: ["127.0.0.1"], ownAddresses: () => [], resolve },
    timeoutMs: 2_000,
    ca: authority.ca,
  };
  const request = prepare(
    { id: Bun.randomUUIDv7(), type: "ping", envelope: "{}" },
    { secrets: ["whsec_test"], headers: {} },
    Date.now(),
  );
  const kinds = [];
  for (let n = 0; n < 3; n++) {
    kinds.push((await attempt(outgoing, `https://receiver.test:${receiver.port}/`, request)).kind);
  }
  expect(kinds).toEqual(["succeeded", "succeeded", "blocked"]);
  expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1]);
});

async function excerptOf(outcome: Promise<SendOutcome>): Promise<string> {
  const ended = await outcome;
  return ended.kind === "answered" ? Buffer.from(ended.excerpt).toString() : ended.kind;
}
