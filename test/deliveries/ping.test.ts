import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ping } from "../../src/deliveries/ping.ts";
import { hang, statuses } from "../support/receivers/receiver.ts";
import {
  digestOf,
  envelopeOf,
  signatureOf,
  startWebhookStage,
  type WebhookStage,
  refusalOf,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

async function pinged({ id }: { id: string }, blockPrivate = false) {
  const outgoing = { guard: { blockPrivate }, timeoutMs: 200 };
  return await ping({ database: stage.database, vault: stage.vault, outgoing }, stage.team.id, id);
}

describe("a ping", () => {
  test("is one signed request of type ping in the same form as every delivery", async () => {
    await using listener = await stage.listen({ events: ["reaction.added"] });
    const pong = await pinged(listener.subscription);
    const request = await listener.receiver.nth(1);
    const envelope = envelopeOf(request);
    expect(pong).toMatchObject({ succeeded: true, response_status: 204, error: null });
    expect(envelope).toMatchObject({ type: "ping", created_at: expect.stringMatching(/[+-]\d\d:\d\d$/) });
    expect(request.headers.get("x-service-event")).toBe("ping");
    expect(request.headers.get("x-service-delivery")).toBe(envelope.id);
    expect(signatureOf(request).digests).toEqual([digestOf(request, listener.subscription.secret)]);
  });

  test("reports how the receiver responded, with the start of the response body", async () => {
    await using listener = await stage.listen({ events: ["reaction.added"] }, () => {
      return new Response(`no such hook\u0000${"x".repeat(5000)}`, { status: 404 });
    });
    const pong = await pinged(listener.subscription);
    expect(pong).toMatchObject({ succeeded: false, response_status: 404, error: expect.any(String) });
    expect(pong.response).toStartWith("no such hook\u0000xxx");
    expect(pong.response).toHaveLength(1024);
    listener.receiver.answer = hang;
    expect(await pinged(listener.subscription)).toMatchObject({
      succeeded: false,
      response_status: null,
      error: expect.stringContaining("timed out"),
    });
  });

  test("changes nothing: no attempt, no streak, no success", async () => {
    await using listener = await stage.listen({ events: ["reaction.added"] }, statuses(500, 200));
    const before = await stage.shown(listener.subscription);
    await pinged(listener.subscription);
    await pinged(listener.subscription);
    expect(await stage.shown(listener.subscription)).toEqual(before);
    expect(before.deliveries).toEqual([]);
  });

  test("goes to a disabled subscription too", async () => {
    await using listener = await stage.listen({ events: ["reaction.added"] });
    await stage.disable(listener.subscription);
    expect(await pinged(listener.subscription)).toMatchObject({ succeeded: true });
    expect(listener.receiver.requests).toHaveLength(1);
  });

  test("is checked by the address guard like every delivery", async () => {
    await using listener = await stage.listen({ events: ["reaction.added"] });
    const pong = await pinged(listener.subscription, true);
    expect(pong).toMatchObject({ succeeded: false, response_status: null, response: null });
    expect(pong.error).toMatch(/^blocked/);
    expect(listener.receiver.requests).toEqual([]);
  });

  test("is refused for a subscription that does not exist", async () => {
    expect(await refusalOf(pinged({ id: crypto.randomUUID() }))).toMatch(/no such/);
  });
});
