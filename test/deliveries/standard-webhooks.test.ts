import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { ping } from "../../src/deliveries/ping.ts";
import { replay } from "../../src/deliveries/replay.ts";
import { rotateSecret } from "../../src/subscriptions/secrets.ts";
import { updateSubscription } from "../../src/subscriptions/store.ts";
import { until } from "../support/conditions.ts";
import { type Received, statuses } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import {
  envelopeOf,
  startWebhookStage,
  type Subscribed,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const outgoing = { guard: { blockPrivate: false }, timeoutMs: 2_000 };

async function listenTo(...answers: [number, ...number[]]) {
  const channel = await stage.channel();
  const input = { events: ["message.created"], channel_ids: [channel.id] };
  return Object.assign(await stage.listen(input, statuses(...answers)), { channel });
}

/** What the library of Standard Webhooks makes of the request; it throws for one that it does not believe. */
function verified(request: Received, secret: string): unknown {
  return new Webhook(secret).verify(request.text, Object.fromEntries(request.headers));
}

const signaturesOf = (request: Received) => (request.headers.get("webhook-signature") ?? "").split(" ");

describe("a Standard Webhooks library accepts", () => {
  test("a delivery and its retry, each signed at its own time with the id of the event", async () => {
    await using listener = await listenTo(500, 204);
    await stage.post(listener.channel, "Grüße 👋");
    for (const request of await listener.receiver.received(2)) {
      const envelope = envelopeOf(request);
      expect(verified(request, listener.subscription.secret)).toEqual(envelope);
      expect(request.headers.get("webhook-id")).toBe(envelope.id);
      const sentAt = Number(request.headers.get("webhook-timestamp"));
      expect(Math.abs(request.at / 1000 - sentAt)).toBeLessThan(5);
      expect(request.headers.get("x-service-signature")).toStartWith(`t=${sentAt},`);
      expect(signaturesOf(request)).toEqual([expect.stringMatching(/^v1,[0-9A-Za-z+/]{43}=$/)]);
    }
  });

  test("a replay and a ping", async () => {
    await using listener = await listenTo(204);
    const { id, secret } = listener.subscription;
    await stage.post(listener.channel);
    const attempt = await until(
      "the attempt is logged",
      async () => (await stage.shown(listener.subscription)).deliveries[0],
    );
    const parts = { database: stage.database, vault: stage.vault, outgoing };
    await replay(parts, stage.team.id, attempt.id, actor);
    await ping(parts, stage.team.id, id);
    const [first, again, pinged] = await listener.receiver.received(3);
    if (!first || !again || !pinged) throw new Error("received() returns all three");
    expect(verified(again, secret)).toEqual(envelopeOf(first));
    expect(verified(pinged, secret)).toMatchObject({ type: "ping" });
  });

  test("deliveries during the overlap of a rotation with either secret, and later ones with the new secret only", async () => {
    await using listener = await listenTo(204);
    const { id, secret: old } = listener.subscription;
    const rotate = async (overlapMs: number) => {
      const { vault } = stage;
      const rotated = await stage.database.write((tx) =>
        rotateSecret(tx, vault, stage.team.id, id, overlapMs, actor),
      );
      return rotated.secret;
    };
    const second = await rotate(60_000);
    await stage.post(listener.channel);
    const during = await listener.receiver.nth(1);
    expect(signaturesOf(during)).toHaveLength(2);
    for (const secret of [old, second]) expect(verified(during, secret)).toEqual(envelopeOf(during));

    const third = await rotate(0);
    await stage.post(listener.channel);
    const after = await listener.receiver.nth(2);
    expect(verified(after, third)).toEqual(envelopeOf(after));
    for (const secret of [old, second])
      expect(() => verified(after, secret)).toThrow("No matching signature");
  });

  test("signatures with a secret of an earlier version, which is two characters shorter", async () => {
    await using listener = await listenTo(204);
    const secret = "whsec_uZhGMxHAQQBfkNwY7lRdfykd4moMbtkTGkWP3qFh4333vF";
    await useSecret(listener.subscription, secret);
    await stage.post(listener.channel);
    const request = await listener.receiver.nth(1);
    expect(verified(request, secret)).toEqual(envelopeOf(request));
  });
});

test("a Standard Webhooks library rejects altered deliveries, and those signed with another secret", async () => {
  await using listener = await listenTo(204);
  const { secret } = listener.subscription;
  await stage.post(listener.channel);
  const request = await listener.receiver.nth(1);
  const altered = { ...request, text: request.text.replace("hello", "hullo") };
  expect(() => verified(altered, secret)).toThrow("No matching signature");
  await using other = await listenTo(204);
  expect(() => verified(request, other.subscription.secret)).toThrow("No matching signature");
});

/** Gives the subscription a secret that an earlier version made. */
async function useSecret({ id }: Subscribed, secret: string): Promise<void> {
  const { vault } = stage;
  await stage.database.write(async (tx) => {
    await updateSubscription(tx, id, { secret: await vault.seal(tx, secret, `subscriptions:${id}`) });
  });
}
