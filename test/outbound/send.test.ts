import { describe, expect, test } from "bun:test";
import { type OutgoingPost, send } from "../../src/outbound/send.ts";
import { until } from "../support/conditions.ts";
import { answering, flooding, inTurn, noContent, rawReceiver } from "../support/receivers/raw-receiver.ts";

const timeoutMs = 300;

/** A POST of `{}` to a receiver on this machine whose name does not resolve. */
function post(port: number, changes: Partial<OutgoingPost> = {}): OutgoingPost {
  const url = new URL(`http://receiver.test:${port}/`);
  return { url, addresses: ["127.0.0.1"], body: "{}", headers: {}, timeoutMs, ...changes };
}

describe("a delivery", () => {
  test("arrives as one POST with the headers and the exact bytes of its body", async () => {
    await using receiver = await rawReceiver(noContent);
    const body = new TextEncoder().encode('{"text":"héllo"}');
    const headers = { "content-type": "application/json", "x-service-event": "message.created" };
    await send(post(receiver.port, { body, headers }));
    const [head = "", sent] = receiver.received()[0]?.split("\r\n\r\n") ?? [];
    expect(head).toStartWith("POST / HTTP/1.1\r\n");
    const lines = head.toLowerCase().split("\r\n");
    expect(lines).toContain("content-type: application/json");
    expect(lines).toContain("x-service-event: message.created");
    expect(lines).toContain(`content-length: ${body.byteLength}`);
    expect(lines).toContain("accept-encoding: identity");
    expect(Buffer.from(sent ?? "", "latin1")).toEqual(Buffer.from(body));
  });

  test("names the host of the URL and not the address it goes to", async () => {
    await using receiver = await rawReceiver(noContent);
    await send(post(receiver.port, { headers: { host: "evil.test", "accept-encoding": "gzip" } }));
    const sent = receiver.received()[0]?.toLowerCase();
    expect(sent).toContain(`\r\nhost: receiver.test:${receiver.port}\r\n`);
    expect(sent).not.toContain("evil.test");
    expect(sent).not.toContain("gzip");
  });

  test("keeps the path and the query of the URL", async () => {
    await using receiver = await rawReceiver(noContent);
    const url = new URL(`http://receiver.test:${receiver.port}/a%2Fb/é?c=d&e=%20`);
    await send(post(receiver.port, { url }));
    expect(receiver.received()[0]).toStartWith("POST /a%2Fb/%C3%A9?c=d&e=%20 HTTP/1.1\r\n");
  });

  test("goes to the vetted address even when the name means another one", async () => {
    await using vetted = await rawReceiver(noContent, { address: "127.0.0.2" });
    await using named = await rawReceiver(noContent, { address: "127.0.0.1", port: vetted.port });
    const url = new URL(`http://localhost:${vetted.port}/`);
    expect(await send(post(vetted.port, { url, addresses: ["127.0.0.2"] }))).toMatchObject({ status: 204 });
    expect(vetted.connections()).toBe(1);
    expect(named.connections()).toBe(0);
  });

  test("never shares a connection with another delivery", async () => {
    await using receiver = await rawReceiver(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    await send(post(receiver.port));
    await send(post(receiver.port));
    expect(receiver.connections()).toBe(2);
    await until("both connections are closed", () => receiver.openConnections() === 0);
  });

  test("is not held up by others that go at once to a receiver of one connection at a time", async () => {
    await using receiver = await rawReceiver(inTurn("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => send(post(receiver.port, { timeoutMs: 3_000 }))),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => "answered"));
  });

  test("with a header that cannot be sent is an internal error", async () => {
    const fault: unknown = await send(post(1, { headers: { "x-service-event": "a\r\nb: c" } })).catch(
      (error) => error,
    );
    expect(fault).toBeInstanceOf(TypeError);
  });
});

describe("the outcome", () => {
  test.each([200, 204, 299, 301, 304, 400, 404, 410, 429, 500, 503, 599])(
    "holds the status %i",
    async (status) => {
      await using receiver = await rawReceiver(answering(`HTTP/1.1 ${status} \r\nContent-Length: 0\r\n\r\n`));
      expect(await send(post(receiver.port))).toMatchObject({ kind: "answered", status });
    },
  );

  test("includes Retry-After as it was sent", async () => {
    const answer = "HTTP/1.1 429 \r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n";
    await using receiver = await rawReceiver(answering(answer));
    expect(await send(post(receiver.port))).toMatchObject({ status: 429, retryAfter: "120" });
    await using silent = await rawReceiver(noContent);
    expect(await send(post(silent.port))).toMatchObject({ status: 204, retryAfter: null });
  });

  test("includes the first KiB of the body, whatever the bytes", async () => {
    const body = Buffer.from(Array.from({ length: 1500 }, (_, index) => index % 256));
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 1500\r\n\r\n";
    await using receiver = await rawReceiver(answering(Buffer.concat([Buffer.from(head), body])));
    const outcome = await send(post(receiver.port));
    expect(outcome.kind === "answered" && outcome.excerpt).toEqual(body.subarray(0, 1024));
  });

  test("includes the start of a body that arrives in pieces", async () => {
    await using receiver = await rawReceiver((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nso\r\n", () => {
          socket.write("3\r\n it\r\n", () => socket.write("5\r\n goes\r\n0\r\n\r\n"));
        });
      });
    });
    const outcome = await send(post(receiver.port));
    expect(outcome.kind === "answered" && String(outcome.excerpt)).toBe("so it goes");
  });

  test("is that of the final response after interim ones", async () => {
    const answers =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 201 Created\r\n";
    await using receiver = await rawReceiver(answering(`${answers}Content-Length: 0\r\n\r\n`));
    expect(await send(post(receiver.port))).toMatchObject({ status: 201 });
  });
});

describe("of several addresses", () => {
  test("the next is tried when the first refuses the connection", async () => {
    await using receiver = await rawReceiver(noContent);
    const addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.1"];
    expect(await send(post(receiver.port, { addresses }))).toMatchObject({ status: 204 });
    expect(receiver.connections()).toBe(1);
  });

  test("the error of the last is reported when all refuse the connection", async () => {
    const port = await freePort();
    const outcome = await send(post(port, { addresses: ["127.0.0.2", "127.0.0.1"] }));
    expect(outcome).toMatchObject({ kind: "unreachable", error: "connection refused" });
  });

  test.each([
    ["answers", noContent],
    ["fails", answering("HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n")],
    ["hangs", () => {}],
    ["closes the connection", answering("")],
    ["is no HTTP server", answering("220 mail.receiver.test ESMTP\r\n\r\n")],
    ["floods", flooding("HTTP/1.1 200 OK\r\n\r\n", "x".repeat(65_536))],
  ])("the next is left alone when the first %s", async (_, behave) => {
    await using first = await rawReceiver(behave, { address: "127.0.0.1" });
    await using next = await rawReceiver(noContent, { address: "127.0.0.2", port: first.port });
    await send(post(first.port, { addresses: ["127.0.0.1", "127.0.0.2"] }));
    expect(first.connections()).toBe(1);
    expect(next.connections()).toBe(0);
  });

  test("all are tried within one timeout", async () => {
    await using hanging = await rawReceiver(() => {});
    // Long, so that a busy machine does not take the difference between one timeout and two.
    const long = 1_500;
    const startedAt = performance.now();
    const addresses = ["127.0.0.2", "127.0.0.1", "127.0.0.1"];
    const outcome = await send(post(hanging.port, { addresses, timeoutMs: long }));
    expect(outcome).toEqual({ kind: "timed_out" });
    expect(performance.now() - startedAt).toBeLessThan(2 * long);
    expect(hanging.connections()).toBe(1);
  });

  test("none at all is unreachable", async () => {
    const outcome = await send(post(80, { addresses: [] }));
    expect(outcome).toMatchObject({ kind: "unreachable", error: "no address to connect to" });
  });
});

describe("a redirect", () => {
  test.each([300, 301, 302, 303, 307, 308])(
    "with status %i is an answer and is not followed",
    async (status) => {
      await using target = await rawReceiver(noContent);
      for (const place of [
        `http://127.0.0.1:${target.port}/`,
        `http://receiver.test:${target.port}/`,
        "/again",
        "::::",
      ]) {
        await using receiver = await rawReceiver(
          answering(`HTTP/1.1 ${status} \r\nLocation: ${place}\r\nContent-Length: 0\r\n\r\n`),
        );
        expect(await send(post(receiver.port))).toMatchObject({ kind: "answered", status });
        expect(receiver.connections()).toBe(1);
      }
      expect(target.connections()).toBe(0);
    },
  );
});

async function freePort(): Promise<number> {
  await using receiver = await rawReceiver(noContent);
  return receiver.port;
}
