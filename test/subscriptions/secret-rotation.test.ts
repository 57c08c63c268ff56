import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { verifyDeliverySignature } from "../../src/deliveries/signature.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { actor } from "../support/workspace.ts";
import { digestOf, signatureOf, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

async function listenTo() {
  const channel = await stage.channel();
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
  return Object.assign(listener, { channel });
}

/** Rotates the secret in a process other than the server, and returns the new one. */
async function rotate({ id }: { id: string }, overlapMs: number): Promise<string> {
  const { vault } = stage;
  const rotated = await stage.database.write((tx) =>
    rotateSecret(tx, vault, stage.team.id, id, overlapMs, actor),
  );
  expect(rotated.secret).toMatch(/^whsec_[0-9A-Za-z]{48}$/);
  return rotated.secret;
}

describe("a rotated secret", () => {
  test("without an overlap stops signing with the next delivery", async () => {
    await using listener = await listenTo();
    const old = listener.subscription.secret;
    const secret = await rotate(listener.subscription, 0);
    await stage.post(listener.channel);
    const request = await listener.receiver.nth(1);
    expect(secret).not.toBe(old);
    expect(signatureOf(request).digests).toEqual([digestOf(request, secret)]);
  });

  test("with an overlap signs after the new one until the overlap ends", async () => {
    await using listener = await listenTo();
    const old = listener.subscription.secret;
    const secret = await rotate(listener.subscription, 60_000);
    await stage.post(listener.channel);
    const request = await listener.receiver.nth(1);
    const header = request.headers.get("x-service-signature") ?? "";
    expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
    expect(signatureOf(request).digests).toEqual([digestOf(request, secret), digestOf(request, old)]);
    for (const key of [secret, old]) {
      expect(verifyDeliverySignature(header, request.body, key, Date.now() / 1000)).toMatchObject({
        ok: true,
      });
    }
  });

  test("with an expired overlap no longer signs", async () => {
    await using listener = await listenTo();
    const secret = await rotate(listener.subscription, 1);
    await stage.post(listener.channel);
    const request = await listener.receiver.nth(1);
    expect(signatureOf(request).digests).toEqual([digestOf(request, secret)]);
  });

  test("twice keeps at most two secrets, and only the newest after a rotation without overlap", async () => {
    await using listener = await listenTo();
    const first = await rotate(listener.subscription, 60_000);
    const second = await rotate(listener.subscription, 60_000);
    await stage.post(listener.channel);
    const overlapping = await listener.receiver.nth(1);
    expect(signatureOf(overlapping).digests).toEqual([
      digestOf(overlapping, second),
      digestOf(overlapping, first),
    ]);
    const third = await rotate(listener.subscription, 0);
    await stage.post(listener.channel);
    const plain = await listener.receiver.nth(2);
    expect(signatureOf(plain).digests).toEqual([digestOf(plain, third)]);
  });

  test("signs retries of deliveries first sent before the rotation", async () => {
    await using listener = await listenTo();
    const { subscription, receiver } = listener;
    const answered = Promise.withResolvers<void>();
    receiver.answer = async (_request, nth) => {
      if (nth === 1) await answered.promise;
      return new Response(null, { status: nth === 1 ? 500 : 200 });
    };
    await stage.post(listener.channel);
    const before = await receiver.nth(1);
    const secret = await rotate(subscription, 0);
    answered.resolve();
    const after = await receiver.nth(2);
    expect(signatureOf(before).digests).toEqual([digestOf(before, subscription.secret)]);
    expect(signatureOf(after).digests).toEqual([digestOf(after, secret)]);
    expect(after.text).toBe(before.text);
  });

  test("is audited with the actor, and without any secret", async () => {
    await using listener = await listenTo();
    const secret = await rotate(listener.subscription, 60_000);
    const [entry] = await stage.audit("webhook.secret_rotated");
    expect(entry).toMatchObject({
      actor,
      target: `webhook:${listener.subscription.id}`,
      details: { overlap_ms: 60_000 },
    });
    expect(JSON.stringify(entry)).not.toContain(secret);
  });
});
