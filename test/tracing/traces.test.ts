import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { engine } from "../support/engine.ts";
import { type CollectedSpan, type Collector, startCollector } from "../support/receivers/collector.ts";
import { type Answering, type Received, statuses } from "../support/receivers/receiver.ts";
import { envelopeOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let collector: Collector;
let stage: WebhookStage;
let settings: Record<string, string>;
beforeAll(async () => {
  collector = startCollector();
  settings = { PARLEY_OTLP_ENDPOINT: `${collector.endpoint}/` };
  stage = await startWebhookStage(settings);
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

/** A channel with a listener to its messages. */
async function listenTo(answer?: Answering) {
  const channel = await stage.channel();
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] }, answer);
  return Object.assign(listener, { channel });
}

/** A trace of the caller's, and how its `traceparent` names it. */
function callersTrace(flags = "01") {
  const ids = {
    traceId: crypto.getRandomValues(new Uint8Array(16)).toHex(),
    id: crypto.getRandomValues(new Uint8Array(8)).toHex(),
  };
  return { ...ids, traceparent: `00-${ids.traceId}-${ids.id}-${flags}` };
}

async function post(channel: ChannelRow, traceparent: string) {
  const answer = await stage.api.post(`/channels/${channel.id}/messages`, { body: "hi" }, { traceparent });
  expect(answer.status).toBe(201);
  return answer;
}

const child = (parent: { id: string; traceId: string }, name: string) => (span: CollectedSpan) =>
  span.parentId === parent.id && span.traceId === parent.traceId && span.name.startsWith(name);

/** The span that the request names as its cause. */
async function spanThatSent({ headers }: Received): Promise<CollectedSpan> {
  const [, traceId, id] = headers.get("traceparent")?.split("-") ?? [];
  return await collector.span((span) => span.traceId === traceId && span.id === id);
}

describe("a message posted with a traceparent", () => {
  test("is one trace, from the caller through the request and its commit to the receiver", async () => {
    await using listener = await listenTo();
    const caller = callersTrace();
    const answer = await post(listener.channel, caller.traceparent);
    const received = await listener.receiver.nth(1);

    const request = await collector.span(child(caller, "POST"));
    expect(request).toMatchObject({
      name: "POST /api/v1/channels/:channel/messages",
      kind: "server",
      isError: false,
      service: "parley",
      attributes: {
        "http.request.method": "POST",
        "http.route": "/api/v1/channels/:channel/messages",
        "http.response.status_code": 201,
        "url.scheme": "http",
      },
    });
    const commit = await collector.span(child(request, "commit"));
    expect(commit).toMatchObject({
      kind: "internal",
      attributes: { "db.system.name": engine === "postgres" ? "postgresql" : "sqlite" },
    });
    const attempt = await collector.span(child(commit, "deliver"));
    expect(attempt).toMatchObject({
      name: "deliver message.created",
      kind: "client",
      isError: false,
      links: [],
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": 204,
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(listener.receiver.url).port),
        "parley.webhook.id": listener.subscription.id,
        "parley.event.id": envelopeOf(received).id,
        "parley.event.type": "message.created",
        "parley.delivery.id": (await stage.shown(listener.subscription)).deliveries[0]?.id,
      },
    });
    expect(received.headers.get("traceparent")).toBe(`00-${caller.traceId}-${attempt.id}-01`);
    for (const span of [request, commit, attempt]) expect(span.durationNs).toBeGreaterThan(0n);

    const inLog = { trace_id: caller.traceId };
    const requestId = answer.headers.get("x-request-id");
    expect(await stage.server.logLine((line) => line.request_id === requestId)).toMatchObject(inLog);
    expect(await stage.server.logLine(({ event }) => event === envelopeOf(received).id)).toMatchObject(inLog);
  });

  test("is passed on but not recorded when the caller does not sample it", async () => {
    await using listener = await listenTo();
    const caller = callersTrace("00");
    await post(listener.channel, caller.traceparent);
    const { headers } = await listener.receiver.nth(1);
    expect(headers.get("traceparent")).toMatch(new RegExp(`^00-${caller.traceId}-[0-9a-f]{16}-00$`));
    const later = callersTrace();
    await post(listener.channel, later.traceparent);
    await collector.span(child(later, "POST"));
    expect(collector.spans.filter(({ traceId }) => traceId === caller.traceId)).toEqual([]);
  });

  test.each(["", "00-0-0-01", `00-${"0".repeat(32)}-${"1".repeat(16)}-01`, "no trace"])(
    "begins a trace when that is malformed: %p",
    async (traceparent) => {
      await using listener = await listenTo();
      await post(listener.channel, traceparent);
      const attempt = await spanThatSent(await listener.receiver.nth(1));
      const isRequest = (span: CollectedSpan) => span.traceId === attempt.traceId && span.kind === "server";
      expect((await collector.span(isRequest)).parentId).toBe("");
    },
  );
});

test("a message through an incoming webhook is one trace, in which its address never appears", async () => {
  const channel = await stage.channel();
  const incoming = await stage.incoming(channel);
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  expect((await stage.send(incoming.token, { text: "hello" })).status).toBe(202);
  const attempt = await spanThatSent(await listener.receiver.nth(1));
  const commit = await collector.span(({ id }) => id === attempt.parentId);
  const request = await collector.span(({ id }) => id === commit.parentId);
  expect(request).toMatchObject({ name: "POST /webhooks/incoming/:token", kind: "server", parentId: "" });
  expect(Bun.inspect(collector.spans, { depth: 9 })).not.toContain(incoming.token);
});

test("messages that share a commit say so", async () => {
  const channel = await stage.channel();
  const caller = callersTrace();
  await Promise.all(Array.from({ length: 20 }, () => post(channel, caller.traceparent)));
  const isCommit = ({ traceId, name }: CollectedSpan) => traceId === caller.traceId && name === "commit";
  await until("all commits are collected", () => collector.spans.filter(isCommit).length === 20);
  const shared = Map.groupBy(
    collector.spans.filter(isCommit),
    ({ attributes }) => attributes["parley.commit.number"],
  );
  // Nothing else wrote meanwhile, except perhaps when the token was last used.
  for (const spans of shared.values())
    for (const { attributes } of spans)
      expect(attributes["parley.commit.calls"]).toBeOneOf([spans.length, spans.length + 1]);
});

test("a refused post names the status and what undid its commit", async () => {
  const caller = callersTrace();
  const path = `/channels/${stage.team.general.id}/messages`;
  expect((await stage.api.post(path, {}, { traceparent: caller.traceparent })).status).toBe(422);
  const request = await collector.span(child(caller, "POST"));
  expect(request).toMatchObject({ isError: false, attributes: { "http.response.status_code": 422 } });
  const commit = await collector.span(child(request, "commit"));
  expect(commit).toMatchObject({ isError: false, attributes: { "error.type": "invalid" } });
});

describe("a retry", () => {
  test("is in the same trace and linked to the attempt before it", async () => {
    await using listener = await listenTo(statuses(500, 503, 204));
    const caller = callersTrace();
    await post(listener.channel, caller.traceparent);
    const attempts = await Promise.all((await listener.receiver.received(3)).map(spanThatSent));
    const [one, two, three] = attempts;
    if (!one || !two || !three) throw new Error("not three attempts");
    expect(new Set(attempts.map(({ parentId }) => parentId)).size).toBe(1);
    expect(attempts.map(({ traceId }) => traceId)).toEqual(Array(3).fill(caller.traceId));
    expect(attempts.map(({ links }) => links)).toEqual([
      [],
      [{ traceId: caller.traceId, id: one.id }],
      [{ traceId: caller.traceId, id: two.id }],
    ]);
    expect(one).toMatchObject({ isError: true, attributes: { "error.type": "500" } });
    expect(three).toMatchObject({ isError: false, attributes: { "http.request.resend_count": 2 } });
  });

  test("is linked to the attempt before it also after a restart", async () => {
    await using listener = await listenTo(statuses(500));
    const caller = callersTrace();
    await post(listener.channel, caller.traceparent);
    await listener.receiver.nth(1);
    await stage.restart(settings);
    listener.receiver.answer = () => new Response();
    await listener.delivered();
    const attempts = await Promise.all(listener.receiver.requests.map(spanThatSent));
    for (const [index, { links }] of attempts.entries())
      expect(links.map(({ id }) => id)).toEqual(
        attempts
          .slice(0, index)
          .slice(-1)
          .map(({ id }) => id),
      );
  });
});

test("an event for more than a hundred subscriptions has all its attempts in the trace", async () => {
  const channel = await stage.channel();
  await using listener = await stage.listen({ channel_ids: [channel.id] });
  const others = Array.from({ length: 100 }, () =>
    stage.subscribe(listener.receiver, { channel_ids: [channel.id] }),
  );
  await Promise.all(others);
  const caller = callersTrace();
  await post(channel, caller.traceparent);
  const request = await collector.span(child(caller, "POST"));
  const commit = await collector.span(child(request, "commit"));
  await until(
    "all attempts are collected",
    () => collector.spans.filter(child(commit, "deliver")).length === 101,
  );
  expect(new Set(listener.receiver.requests.map(({ headers }) => headers.get("traceparent"))).size).toBe(101);
});

describe("a command", () => {
  test("that causes an event is one trace with what the server delivers for it", async () => {
    const channel = await stage.channel();
    const bot = await stage.bot();
    await using listener = await stage.listen({ channel_ids: [channel.id] });
    const ran = await run(stage.dataDir, ["channels", "add-member", channel.id, bot.id], settings);
    expect(ran.status, ran.stderr).toBe(0);
    const attempt = await spanThatSent(await listener.receiver.nth(1));
    const commit = await collector.span(({ id }) => id === attempt.parentId);
    const command = await collector.span(({ id }) => id === commit.parentId);
    expect(command).toMatchObject({ name: "parley channels add-member", kind: "internal", parentId: "" });
    expect(new Set([command, commit, attempt].map(({ traceId }) => traceId)).size).toBe(1);
  });

  test("that replays a delivery is a trace of its own, linked to that of the event", async () => {
    await using listener = await listenTo();
    const caller = callersTrace();
    await post(listener.channel, caller.traceparent);
    await listener.delivered();
    const [delivery] = (await stage.shown(listener.subscription)).deliveries;
    const environment = { ...settings, WEBHOOKS_BLOCK_PRIVATE_URLS: "false" };
    const ran = await run(stage.dataDir, ["deliveries", "replay", delivery?.id ?? ""], environment);
    expect(ran.status, ran.stderr).toBe(0);

    const [original, again] = listener.receiver.requests;
    if (!original || !again) throw new Error("not sent again");
    const first = await spanThatSent(original);
    const replayed = await spanThatSent(again);
    expect(replayed.traceId).not.toBe(caller.traceId);
    expect(replayed.links).toEqual([{ traceId: caller.traceId, id: first.parentId }]);
    const command = await collector.span(({ id }) => id === replayed.parentId);
    expect(command.name).toBe("parley deliveries replay");
  });
});
