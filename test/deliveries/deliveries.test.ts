import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  envelopeOf,
  signatureOf,
  digestOf,
  startWebhookStage,
  type WebhookStage,
} from "../support/webhook-stage.ts";
import { hang, startReceiver, statuses } from "../support/receivers/receiver.ts";

const backoffBaseMs = 40;
const timeoutMs = 300;

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage({
    WEBHOOKS_BACKOFF_BASE: String(backoffBaseMs / 1000),
    WEBHOOKS_TIMEOUT: String(timeoutMs / 1000),
    WEBHOOKS_MAX_ATTEMPTS: "3",
  });
});
afterAll(() => stage[Symbol.asyncDispose]());

/** A listener to the messages of a channel of its own, and how to post one there. */
async function listenTo(answer?: Parameters<WebhookStage["listen"]>[1]) {
  const channel = await stage.channel();
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] }, answer);
  return Object.assign(listener, { post: async (body?: string) => await stage.post(channel, body) });
}

/** What the log holds of the attempts, oldest first. */
async function attemptsOf(subscription: { id: string }) {
  const { deliveries } = await stage.shown(subscription);
  return deliveries
    .map(({ succeeded, response_status, error }) => ({ succeeded, response_status, error }))
    .reverse();
}

describe("a failed attempt", () => {
  test("is retried after a wait that grows sixfold, with the same id and the same bytes", async () => {
    await using listener = await listenTo(statuses(500, 404, 200));
    await listener.post();
    await listener.delivered();
    const [one, two, three] = listener.receiver.requests;
    if (!one || !two || !three) throw new Error("not three requests");
    expect(listener.receiver.requests).toHaveLength(3);
    expect([two.text, three.text]).toEqual([one.text, one.text]);
    expect([two, three].map(({ headers }) => headers.get("x-service-delivery"))).toEqual([
      envelopeOf(one).id,
      envelopeOf(one).id,
    ]);
    // Nothing says how late an attempt may be on a busy machine; the next tests tell that the waits are not longer.
    expect(two.at - one.at).toBeGreaterThanOrEqual(backoffBaseMs * 0.9 - 1);
    expect(three.at - two.at).toBeGreaterThanOrEqual(backoffBaseMs * 6 * 0.9 - 1);
    expect(three.at - one.at).toBeLessThan(backoffBaseMs * 60);
    for (const request of [one, two, three]) {
      expect(signatureOf(request).digests).toEqual([digestOf(request, listener.subscription.secret)]);
    }
    expect(await attemptsOf(listener.subscription)).toEqual([
      { succeeded: false, response_status: 500, error: "the receiver answered 500" },
      { succeeded: false, response_status: 404, error: "the receiver answered 404" },
      { succeeded: true, response_status: 200, error: null },
    ]);
  });

  test("is signed again each time, with the time at which it is sent", async () => {
    await using listener = await listenTo(statuses(500));
    await listener.post();
    await listener.delivered();
    for (const request of listener.receiver.requests) {
      expect(signatureOf(request).time * 1000).toBeWithin(request.at - 2000, request.at + 1);
    }
  });

  test("is the last one once the maximum number of attempts is reached", async () => {
    await using listener = await listenTo(statuses(503));
    await listener.post();
    expect(await listener.delivered()).toHaveLength(3);
    expect(await stage.shown(listener.subscription)).toMatchObject({
      status: "active",
      consecutive_failures: 3,
      last_success_at: null,
    });
  });

  test.each([300, 304, 400, 401, 404, 410, 422, 429, 500, 599])(
    "is what the answer %d makes",
    async (status) => {
      await using listener = await listenTo(statuses(status, 200));
      await listener.post();
      await listener.delivered();
      const attempts = await attemptsOf(listener.subscription);
      expect(attempts.map(({ response_status }) => response_status)).toEqual([status, 200]);
      expect(attempts.map(({ succeeded }) => succeeded)).toEqual([false, true]);
    },
  );

  test.each([200, 201, 202, 204, 299])("does not result from status %d", async (status) => {
    await using listener = await listenTo(statuses(status));
    await listener.post();
    await listener.delivered();
    expect(await attemptsOf(listener.subscription)).toEqual([
      { succeeded: true, response_status: status, error: null },
    ]);
  });

  test.each([301, 302, 303, 307, 308])(
    "is what the redirect %d makes: it is not followed",
    async (status) => {
      await using target = startReceiver();
      const headers = { location: target.url };
      await using listener = await listenTo((_, nth) =>
        nth === 1 ? new Response(null, { status, headers }) : new Response(),
      );
      await listener.post();
      await listener.delivered();
      expect(target.requests).toEqual([]);
      const [first] = await attemptsOf(listener.subscription);
      expect(first).toMatchObject({ succeeded: false, response_status: status, error: expect.any(String) });
    },
  );

  test("results from a response that is late", async () => {
    await using listener = await listenTo((request, nth) =>
      nth === 1 ? hang(request, nth) : new Response(),
    );
    const before = Date.now();
    await listener.post();
    const again = await listener.receiver.nth(2);
    expect(again.at - before).toBeGreaterThanOrEqual(timeoutMs);
    await listener.delivered();
    const [first] = await attemptsOf(listener.subscription);
    expect(first).toMatchObject({
      succeeded: false,
      response_status: null,
      error: expect.stringContaining("timed out"),
    });
  });

  test("results from a refused connection, and its error names no address", async () => {
    await using listener = await listenTo();
    const { port } = new URL(listener.receiver.url);
    await listener.receiver[Symbol.asyncDispose]();
    await listener.post();
    await stage.drained(listener.subscription);
    const attempts = await attemptsOf(listener.subscription);
    expect(attempts).toHaveLength(3);
    for (const { error, response_status } of attempts) {
      expect(response_status).toBeNull();
      expect(error).toMatch(/\S/);
      expect(error).not.toMatch(new RegExp(`127\\.0\\.0\\.1|${port}`));
    }
  });
});

describe("Retry-After", () => {
  /** When the job is due again after a first attempt that was answered so, in milliseconds after it was logged. */
  async function waitAfter(status: number, retryAfter: string): Promise<number> {
    const headers = { "retry-after": retryAfter };
    await using listener = await listenTo(() => new Response(null, { status, headers }));
    await listener.post();
    const { id } = listener.subscription;
    const line = await stage.server.logLine(
      (entry) => entry.msg === "delivery.attempted" && entry.webhook === id,
    );
    await stage.api.del(`/webhooks/${id}`);
    return Number(line.next_attempt_at) - Date.parse(String(line.time));
  }

  test.each([429, 503])("on %d is honoured when it is longer than the backoff", async (status) => {
    expect(await waitAfter(status, "2")).toBeWithin(1900, 2001);
    const inTenMinutes = new Date(Date.now() + 600_000).toUTCString();
    expect(await waitAfter(status, inTenMinutes)).toBeWithin(595_000, 600_001);
  });

  test.each([429, 503])("on %d is honoured up to an hour", async (status) => {
    expect(await waitAfter(status, "99999999999")).toBeWithin(3_595_000, 3_600_001);
    expect(await waitAfter(status, new Date(Date.now() + 86_400_000).toUTCString())).toBeWithin(
      3_595_000,
      3_600_001,
    );
  });

  test.each(["0", "-1", "soon", "", "1e3", "Thu, 01 Jan 1970 00:00:00 GMT", "2026-13-45"])(
    "shortens no wait and breaks nothing when it is %p",
    async (retryAfter) => {
      expect(await waitAfter(429, retryAfter)).toBeLessThanOrEqual(backoffBaseMs * 1.1 + 1);
    },
  );

  test.each([500, 502, 404])("on %d is ignored", async (status) => {
    expect(await waitAfter(status, "3600")).toBeLessThanOrEqual(backoffBaseMs * 1.1 + 1);
  });

  test("really delays the next attempt", async () => {
    await using listener = await listenTo((_, nth) =>
      nth === 1 ? new Response(null, { status: 429, headers: { "retry-after": "1" } }) : new Response(),
    );
    await listener.post();
    const [one, two] = [await listener.receiver.nth(1), await listener.receiver.nth(2)];
    expect(two.at - one.at).toBeGreaterThanOrEqual(1000);
  });
});

describe("the streak of failures", () => {
  test("counts attempts across all events, and a success ends it", async () => {
    let status = 500;
    await using listener = await listenTo(() => new Response(null, { status }));
    await listener.post("first");
    await listener.post("second");
    await listener.delivered();
    expect(await stage.shown(listener.subscription)).toMatchObject({
      consecutive_failures: 6,
      last_success_at: null,
    });
    status = 200;
    const before = Date.now();
    await listener.post("third");
    await listener.delivered();
    const shown = await stage.shown(listener.subscription);
    expect(shown).toMatchObject({ consecutive_failures: 0, status: "active" });
    expect(Date.parse(shown.last_success_at ?? "")).toBeWithin(before, Date.now() + 1);
    expect(shown.last_success_at).toMatch(/[+-]\d\d:\d\d$/);
  });
});

test("the API shows the 20 latest attempts, newest first", async () => {
  await using listener = await listenTo();
  for (let nth = 0; nth < 23; nth++) {
    await listener.post(`message ${nth}`);
    await stage.drained(listener.subscription);
  }
  const sent = listener.receiver.requests.map((request) => envelopeOf(request).id);
  const { deliveries } = await stage.shown(listener.subscription);
  expect(deliveries.map(({ event_id }) => event_id)).toEqual(sent.slice(3).reverse());
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(20);
});

test("nothing that a receiver sends with its response is passed on", async () => {
  const headers = { "set-cookie": "session=1", "www-authenticate": "Basic realm=x" };
  await using listener = await listenTo(
    (_, nth) => new Response(null, { status: nth === 1 ? 401 : 200, headers }),
  );
  await listener.post();
  await listener.delivered();
  for (const request of listener.receiver.requests) {
    expect(request.headers.has("cookie")).toBe(false);
    expect(request.headers.has("authorization")).toBe(false);
  }
});
