import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { until } from "../support/conditions.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { startWebhookStage, type Subscribed } from "../support/webhook-stage.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { createAuthority } from "../outbound/certificates.ts";
import { answering, dripping, flooding, noContent, rawReceiver } from "../support/receivers/raw-receiver.ts";
import { tlsReceiver } from "../support/receivers/tls-receiver.ts";

/** Each is tried twice, and one that hangs has one request at a time. */
const messages = 4;

const mebibyte = 1024 * 1024;
const ok = "HTTP/1.1 200 OK\r\n";
const chunk = "x".repeat(64 * 1024);
const bomb = gzipSync(Buffer.alloc(256 * mebibyte));
const bombHead = `${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.byteLength}\r\n\r\n`;

/** What a receiver does with a request, and how that stands in the log: its status and what went wrong. */
type Hostility = [
  what: string,
  behave: (socket: Socket) => void,
  status: number | null,
  error: string | null,
];

const timedOut = "timed out after 2000 ms";
const malformed = "malformed HTTP response";

const hostilities: Hostility[] = [
  ["hangs", () => {}, null, timedOut],
  ["drips its headers", dripping(ok, "X-Drop: x\r\n"), null, timedOut],
  [
    "sends interim responses for ever",
    flooding("", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)),
    null,
    timedOut,
  ],
  ["drips its body", dripping(`${ok}Content-Length: 9999999\r\n\r\n`, "."), 200, null],
  ["sends a body without end", flooding(`${ok}\r\n`, chunk), 200, null],
  ["sends a bomb", answering(Buffer.concat([Buffer.from(bombHead), bomb])), 200, null],
  [
    "stops within its body",
    (socket) => socket.once("data", () => socket.end(`${ok}Content-Length: 99\r\n\r\n.`)),
    200,
    null,
  ],
  [
    "fails with a body without end",
    flooding("HTTP/1.1 500 No\r\n\r\n", chunk),
    500,
    "the receiver answered 500",
  ],
  ["sends headers without end", flooding(ok, "X-Flood: y\r\n".repeat(1000)), null, malformed],
  ["speaks another protocol", answering("220 mail ESMTP\r\n\r\n"), null, malformed],
  [
    "upgrades unrequested",
    answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    null,
    malformed,
  ],
  [
    "resets the connection",
    (socket) => socket.once("data", () => socket.resetAndDestroy()),
    null,
    "connection reset",
  ],
];

/** The memory that the server has at most held since the last time this was asked, in bytes. */
function peakMemory(pid: number): number {
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return peak;
}

test("receivers that misbehave in every way are logged accurately and cost no memory", async () => {
  await using stage = await startWebhookStage({
    WEBHOOKS_TIMEOUT: "2",
    WEBHOOKS_MAX_ATTEMPTS: "2",
  });
  const channel = await stage.channel();
  const subscribe = (port: number) =>
    stage.subscribe({ url: `http://127.0.0.1:${port}/` }, { channel_ids: [channel.id] });
  await using stack = new AsyncDisposableStack();
  const good = stack.use(await rawReceiver(noContent));
  const subscription = await subscribe(good.port);
  for (let count = 0; count < 100; count++) await stage.post(channel);
  await stage.drained(subscription);
  peakMemory(stage.server.pid);
  const before = peakMemory(stage.server.pid);

  const subscriptions: Subscribed[] = [];
  for (const [, behave] of hostilities) {
    const receiver = stack.use(await rawReceiver(behave));
    subscriptions.push(await subscribe(receiver.port));
  }
  for (let count = 0; count < messages; count++) await stage.post(channel);
  const all = [...subscriptions, subscription];
  const queuedForAll = async () => Math.max(...(await Promise.all(all.map((each) => stage.queued(each)))));
  await until("all is tried twice", async () => (await queuedForAll()) === 0, {
    timeout_ms: 40_000,
  });
  const after = peakMemory(stage.server.pid);
  expect(after - before).toBeLessThan(50 * mebibyte);

  for (const [index, [what, , status, error]] of hostilities.entries()) {
    const { deliveries } = await stage.shown(subscriptions[index] as Subscribed);
    expect(deliveries, what).toHaveLength(error === null ? messages : 2 * messages);
    for (const delivery of deliveries) {
      expect([what, delivery.succeeded, delivery.response_status, delivery.error]).toEqual([
        what,
        error === null,
        status,
        error,
      ]);
    }
  }
  expect(good.connections()).toBe(100 + messages);
}, 60_000);

test("a cookie that a receiver sets is sent neither to it nor to another", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const set = { "set-cookie": "session=secret; Path=/; Domain=127.0.0.1" };
  await using failing = startReceiver(() => new Response(null, { status: 500, headers: set }));
  await using taking = startReceiver(() => new Response(null, { status: 200, headers: set }));
  for (const receiver of [failing, taking]) await stage.subscribe(receiver);
  for (let count = 0; count < 3; count++) await stage.post(channel);
  await failing.received(6);
  await taking.received(3);
  for (const request of [...failing.requests, ...taking.requests])
    expect(request.headers.has("cookie")).toBe(false);
});

test("an environment that names proxies and trusts every certificate changes nothing", async () => {
  await using proxy = await rawReceiver(answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  const address = `http://127.0.0.1:${proxy.port}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
  await using stage = await startWebhookStage({
    ...Object.fromEntries(names.map((name) => [name, address])),
    NO_PROXY: "",
    no_proxy: "",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    WEBHOOKS_MAX_ATTEMPTS: "1",
  });
  using folder = temporaryFolder();
  await using untrusted = await tlsReceiver(createAuthority(folder.path).issue("IP:127.0.0.1"));
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  const encrypted = await stage.subscribe({ url: `https://127.0.0.1:${untrusted.port}/` });
  await stage.post(channel);
  expect(await listener.delivered()).toHaveLength(1);
  await stage.drained(encrypted);
  expect(await stage.shown(encrypted)).toMatchObject({
    deliveries: [{ succeeded: false, error: "TLS certificate not trusted" }],
  });
  expect([proxy.connections(), untrusted.requests()]).toEqual([0, []]);
});
