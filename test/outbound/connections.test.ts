import { afterAll, afterEach, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { type OutgoingPost, send, type SendOutcome } from "../../src/outbound/send.ts";
import { until } from "../support/conditions.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { type Authority, createAuthority, type KeyPair } from "./certificates.ts";
import { type Answering, answerTo, lastingReceiver } from "../support/receivers/lasting-receiver.ts";

let folders: TemporaryFolder[];
let authority: Authority;
let other: Authority;
let pair: KeyPair;

beforeAll(() => {
  folders = [temporaryFolder(), temporaryFolder()];
  const [first = temporaryFolder(), second = temporaryFolder()] = folders;
  authority = createAuthority(first.path);
  other = createAuthority(second.path);
  pair = authority.issue("DNS:receiver.test,DNS:other.test,IP:127.0.0.1");
});

afterAll(() => {
  for (const folder of folders) folder[Symbol.dispose]();
});

afterEach(() => {
  setSystemTime();
});

/** A delivery to a path at the port of this machine, whose name is `receiver.test` unless told otherwise. */
function deliver(port: number, changes: Partial<OutgoingPost> & { to?: string } = {}): Promise<SendOutcome> {
  const { to = "receiver.test", ...others } = changes;
  const [host, ...path] = to.split("/");
  const url = new URL(`https://${host}:${port}/${path.join("/")}`);
  const post = { url, addresses: ["127.0.0.1"], body: "{}", headers: {}, timeoutMs: 2_000 };
  return send({ ...post, ca: authority.ca, ...others });
}

/** What the receiver's answer said: which connection the request came over, and as which one on it. */
async function answerOf(outcome: Promise<SendOutcome>): Promise<string> {
  const ended = await outcome;
  return ended.kind === "answered" ? Buffer.from(ended.excerpt).toString() : ended.kind;
}

const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";

function answerOfLength(length: number): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`;
}

describe("deliveries to the same URL", () => {
  test("share one connection and its handshake if sent one after the other", async () => {
    await using receiver = await lastingReceiver(pair);
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await answerOf(deliver(receiver.port)));
    expect(answers).toEqual(["1.1", "1.2", "1.3", "1.4", "1.5"]);
    expect(receiver.serverNames()).toEqual(["receiver.test"]);
  });

  test("share connections however many are sent at once, and each gets its own response", async () => {
    await using receiver = await lastingReceiver(pair);
    const burst = () => Promise.all(Array.from({ length: 100 }, () => answerOf(deliver(receiver.port))));
    await burst();
    const answers = await burst();
    expect(new Set(answers).size).toBe(100);
    expect(receiver.serverNames()).toHaveLength(100);
  });

  test("leave at most 120 connections open", async () => {
    await using receiver = await lastingReceiver(pair);
    await Promise.all(Array.from({ length: 150 }, () => deliver(receiver.port)));
    await until("those beyond are closed", () => receiver.openConnections() <= 120);
    expect(receiver.openConnections()).toBe(120);
  });

  test("share no connection while the first one waits for its response", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<() => void>();
    await using receiver = await lastingReceiver(pair, (socket, arrival) => {
      if (arrival.connection === 1) resolve(() => socket.write(answerTo(arrival)));
      else socket.write(answerTo(arrival));
    });
    const first = answerOf(deliver(receiver.port));
    const answer = await asked;
    expect(await answerOf(deliver(receiver.port))).toBe("2.1");
    answer();
    expect(await first).toBe("1.1");
  });
});

describe("no connection is shared by deliveries", () => {
  test("to two names at the same address", async () => {
    await using receiver = await lastingReceiver(pair);
    for (const to of ["receiver.test", "other.test", "127.0.0.1", "receiver.test", "other.test"]) {
      await deliver(receiver.port, { to });
    }
    expect(receiver.serverNames().map(String)).toEqual(["receiver.test", "other.test", "false"]);
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 2, 3, 1, 2]);
  });

  test("to a name that the certificate does not contain", async () => {
    await using receiver = await lastingReceiver(authority.issue("DNS:receiver.test"));
    await deliver(receiver.port);
    const outcome = await deliver(receiver.port, { to: "other.test" });
    expect(outcome).toMatchObject({ error: "TLS certificate does not match the host name" });
    expect(receiver.arrivals()).toHaveLength(1);
  });

  test("to two addresses of a name", async () => {
    await using first = await lastingReceiver(pair);
    await using second = await lastingReceiver(pair, undefined, { address: "127.0.0.2", port: first.port });
    await deliver(first.port);
    await deliver(first.port, { addresses: ["127.0.0.2"] });
    expect(first.arrivals()).toHaveLength(1);
    expect(second.arrivals()).toHaveLength(1);
  });

  test("that trust different authorities", async () => {
    await using receiver = await lastingReceiver(pair);
    await deliver(receiver.port);
    for (const ca of [other.ca, undefined]) {
      expect(await deliver(receiver.port, { ca })).toMatchObject({ error: "TLS certificate not trusted" });
    }
    expect(receiver.arrivals()).toHaveLength(1);
  });

  test.each(["receiver.test/a", "receiver.test/?a=b"])(
    "to %s and to another place on the host",
    async (to) => {
      await using receiver = await lastingReceiver(pair);
      await deliver(receiver.port);
      expect(await answerOf(deliver(receiver.port, { to }))).toBe("2.1");
    },
  );
});

describe("a connection is not reused", () => {
  const after: [what: string, answering: Answering][] = [
    [
      "that says so",
      (socket) => socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
    ],
    ["in HTTP/1.0", (socket) => socket.write("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")],
    ["as long as is read at most", (socket) => socket.write(answerOfLength(64 * 1024))],
    [
      "that ends in two ways",
      (socket) =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ],
    [
      "without a body that says how long its body is",
      (socket) => socket.write("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
    ],
    ["of another status", (socket) => socket.write("HTTP/1.1 099 \r\nContent-Length: 0\r\n\r\n")],
    ["with another one behind it", (socket, arrival) => socket.write(`${answerTo(arrival)}${forged}`)],
  ];

  test.each(after)("after a response %s", async (_, answering) => {
    await using receiver = await lastingReceiver(pair, answering);
    await deliver(receiver.port);
    await deliver(receiver.port);
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 2]);
    await until("both are closed", () => receiver.openConnections() === 0, { timeout_ms: 2_000 });
  });

  test("after a response that did not end in time", async () => {
    await using receiver = await lastingReceiver(pair, (socket, arrival) =>
      socket.write(arrival.connection === 1 ? answerOfLength(10).slice(0, -5) : answerTo(arrival)),
    );
    expect(await answerOf(deliver(receiver.port, { timeoutMs: 200 }))).toBe("xxxxx");
    await until("it is closed", () => receiver.openConnections() === 0);
    expect(await answerOf(deliver(receiver.port))).toBe("2.1");
  });

  test("after it was idle for four seconds", async () => {
    await using receiver = await lastingReceiver(pair);
    const startedAt = Date.now();
    for (const seconds of [0, 3.9, 7.8, 11.8]) {
      setSystemTime(startedAt + seconds * 1000);
      await deliver(receiver.port);
    }
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1, 1, 2]);
  });

  test("a minute after its certificate was checked, however busy it is", async () => {
    await using receiver = await lastingReceiver(pair);
    const startedAt = Date.now();
    for (let seconds = 0; seconds <= 60; seconds += 3) {
      setSystemTime(startedAt + seconds * 1000);
      await deliver(receiver.port);
    }
    expect(receiver.arrivals().at(-2)).toMatchObject({ connection: 1 });
    expect(receiver.arrivals().at(-1)).toMatchObject({ connection: 2 });
  });

  test("when its certificate expires", async () => {
    const year = new Date().getUTCFullYear() + 1;
    await using receiver = await lastingReceiver(authority.issue("DNS:receiver.test", { until: year }));
    for (const ms of [-2_000, -1_000, 0]) {
      setSystemTime(Date.UTC(year, 0) + ms);
      await deliver(receiver.port);
    }
    expect(receiver.arrivals().map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });
});
