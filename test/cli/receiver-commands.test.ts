import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { Grade } from "../../src/deliveries/grade.ts";
import type { SentSample } from "../../src/deliveries/sample.ts";
import { verifyDeliverySignature, verifyStandardSignature } from "../../src/deliveries/signature.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { intoFile, keys, onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { type Received, type Receiver, startReceiver, statuses } from "../support/receivers/receiver.ts";
import {
  digestOf,
  envelopeOf,
  signatureOf,
  startWebhookStage,
  type Subscribed,
  type WebhookStage,
} from "../support/webhook-stage.ts";

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
  // The commands need to know too that receivers may stand on this machine.
  writeFileSync(join(stage.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
});
afterAll(() => stage[Symbol.asyncDispose]());

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, args);

/** A receiver with a subscription, that answers 401 to what is not signed with one of these secrets within five minutes. */
async function verifying(secrets: string[] = []): Promise<{ receiver: Receiver; subscription: Subscribed }> {
  const receiver = startReceiver((request) => {
    const isGenuine = secrets.some((secret) => isSigned(request, secret));
    return new Response(null, { status: isGenuine ? 204 : 401 });
  });
  const subscription = await stage.subscribe(receiver, { name: receiver.url, events: ["reaction.added"] });
  secrets.push(subscription.secret);
  return { receiver, subscription };
}

function isSigned({ headers, body }: Received, secret: string): boolean {
  const now = Date.now() / 1000;
  const service = verifyDeliverySignature(headers.get("x-service-signature"), body, secret, now);
  return service.ok && verifyStandardSignature(headers, body, secret, now).ok;
}

describe("a sample", () => {
  test("of each event type arrives signed, in the form of that event and marked, and leaves no trace", async () => {
    const { receiver, subscription } = await verifying();
    for (const type of webhookEvents) {
      const sent = await json<SentSample>("trigger", type, "--webhook", subscription.id);
      const request = await receiver.nth(webhookEvents.indexOf(type) + 1);
      const envelope = envelopeOf(request);
      expect(envelope).toMatchObject({
        id: sent.event_id,
        type,
        sample: true,
        data: { channel_id: expect.any(String) as unknown },
      });
      expect(request.headers.get("x-service-event")).toBe(type);
      expect(signatureOf(request).digests).toEqual([digestOf(request, subscription.secret)]);
      expect(sent).toMatchObject({ succeeded: true, response_status: 204, event_type: type });
    }
    expect((await stage.shown(subscription)).deliveries).toEqual([]);
    await receiver[Symbol.asyncDispose]();
  });

  test("is of a channel of the subscription, and fails if the receiver does", async () => {
    const channel = await stage.channel();
    await using listener = await stage.listen(
      { name: "Restricted", channel_ids: [channel.id] },
      statuses(503),
    );
    const failed = await run(stage.dataDir, ["trigger", "message.created", "--webhook", "Restricted"]);
    expect(failed.status).toBe(1);
    expect(failed.stderr).toContain("the receiver answered 503");
    expect(envelopeOf(await listener.receiver.nth(1)).data.channel_id).toBe(channel.id);
    const missing = await runRefused(stage.dataDir, ["trigger", "message.created"]);
    expect(missing).toMatchObject({
      status: 2,
      message: expect.stringContaining("--webhook WEBHOOK is missing") as unknown,
    });
    expect((await run(stage.dataDir, ["trigger", "message.lost", "--webhook", "Restricted"])).status).toBe(2);
  });
});

describe("a grade", () => {
  test("is good for a receiver that verifies signature and time, and takes a repeated request", async () => {
    const { receiver, subscription } = await verifying();
    const grades = await json<Grade[]>("webhooks", "grade", subscription.id);
    expect(
      grades.map(({ request, response_status, passed, advice }) => [
        request,
        response_status,
        passed,
        advice,
      ]),
    ).toEqual([
      ["good", 204, true, null],
      ["forged", 401, true, null],
      ["stale", 401, true, null],
      ["repeated", 204, true, null],
    ]);
    const [good, , stale, repeated] = await receiver.received(4);
    expect(repeated?.headers.get("webhook-id")).toBe(good?.headers.get("webhook-id") ?? "");
    expect(signatureOf(stale as Received).digests).toEqual([
      digestOf(stale as Received, subscription.secret),
    ]);
    expect((await stage.shown(subscription)).deliveries).toEqual([]);
    await receiver[Symbol.asyncDispose]();
  });

  test("ends with 1 and says what to do for a receiver that takes everything", async () => {
    await using _ = await stage.listen({ name: "Trusting" });
    const { status, stdout, stderr } = await run(stage.dataDir, ["webhooks", "grade", "Trusting"]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^forged +4xx +204 +dangerous$/m);
    expect(stdout).toMatch(/^stale +4xx +204 +wrong$/m);
    expect(stderr).toContain("forged: It was accepted, though it was signed with another secret");
    expect(stderr).toContain("error: Trusting accepts forged requests.");
    const refused = await runRefused(stage.dataDir, ["webhooks", "grade", "Trusting"]);
    expect(refused).toMatchObject({
      status: 1,
      data: [{ request: "good" }, { request: "forged", passed: false }, {}, {}],
    });
  });

  test("only advises about stale and repeated requests", async () => {
    const seen = new Set<unknown>();
    const { subscription, receiver } = await verifying();
    receiver.answer = ({ headers, body }) => {
      const id = headers.get("webhook-id");
      const signature = verifyDeliverySignature(
        headers.get("x-service-signature"),
        body,
        subscription.secret,
        0,
      );
      const isForged = !signature.ok && signature.reason === "mismatch";
      const status = isForged ? 403 : seen.has(id) ? 409 : 200;
      seen.add(id);
      return new Response(null, { status });
    };
    const { status, stdout, stderr } = await run(stage.dataDir, ["webhooks", "grade", subscription.id]);
    expect(status).toBe(0);
    expect(stdout.match(/ wrong$/gm)).toHaveLength(2);
    expect(stderr).toContain("repeated: The same request came twice");
    await receiver[Symbol.asyncDispose]();
  });

  test("of a receiver that refuses everything or crashes says that the rest means nothing", async () => {
    await using _ = await stage.listen({ name: "Refusing" }, statuses(500));
    const { status, stderr } = await run(stage.dataDir, ["webhooks", "grade", "Refusing"]);
    expect(status).toBe(1);
    expect(stderr).toContain("does not accept genuine requests");
    expect(stderr).toContain("forged: It was not accepted, but not refused either");
  });
});

describe("a rotation until the new secret is proven", () => {
  const rotate = (id: string) => ["webhooks", "rotate-secret", id, "--until-proven", "--yes"];

  test("signs with both until the receiver has the new one, then with the new one alone", async () => {
    const known: string[] = [];
    const { receiver, subscription } = await verifying(known);
    const made = await json<Subscribed>(...rotate(subscription.id));
    await json("webhooks", "ping", subscription.id);
    const both = await receiver.nth(1);
    expect(signatureOf(both).digests).toEqual(
      [made.secret, subscription.secret].map((secret) => digestOf(both, secret)),
    );

    const early = await runRefused(stage.dataDir, rotate(subscription.id));
    expect(early.status).toBe(1);
    expect(early.message).toContain(
      "does not accept what the new secret alone has signed: the receiver answered 401",
    );
    expect(early.message).toContain("Both secrets go on signing");
    await json("webhooks", "ping", subscription.id);
    expect(signatureOf(await receiver.nth(4)).digests).toHaveLength(2);

    known.push(made.secret);
    const proven = await json<object>(...rotate(subscription.id));
    expect(proven).toMatchObject({ genuine: { response_status: 204 }, forged: { response_status: 401 } });
    expect(JSON.stringify(proven)).not.toContain("ealed");
    await json("webhooks", "ping", subscription.id);
    const alone = await receiver.nth(7);
    expect(signatureOf(alone).digests).toEqual([digestOf(alone, made.secret)]);

    const audit = await json<AuditEntry[]>("audit", "list", "--action", "webhook.secret_proven");
    expect(audit.map(({ target }) => target)).toEqual([`webhook:${subscription.id}`]);
    await receiver[Symbol.asyncDispose]();
  });

  test("waits on a terminal until the receiver has it, and can be interrupted", async () => {
    const known: string[] = [];
    const { receiver, subscription } = await verifying(known);
    await using interrupted = onTerminal(stage.dataDir, rotate(subscription.id));
    await interrupted.shows("whsec_");
    await interrupted.shows("Waiting for");
    interrupted.type(keys.interrupt);
    expect(await interrupted.ended()).not.toBe(0);
    const secret = /whsec_[\w+/=]+/.exec(interrupted.text)?.[0] ?? "";
    await json("webhooks", "ping", subscription.id);
    expect(signatureOf(await receiver.nth(receiver.requests.length)).digests).toHaveLength(2);

    await using waiting = onTerminal(stage.dataDir, rotate(subscription.id));
    await waiting.shows("the receiver answered 401");
    known.push(secret);
    await waiting.shows("verifies with the new secret");
    expect(await waiting.ended()).toBe(0);
    await json("webhooks", "ping", subscription.id);
    expect(signatureOf(await receiver.nth(receiver.requests.length)).digests).toHaveLength(1);
    await receiver[Symbol.asyncDispose]();
  });

  test("does not wait where the result goes to a file, which somebody reads to give the receiver its secret", async () => {
    const { receiver, subscription } = await verifying();
    const file = join(stage.dataDir, "rotated");
    await using screen = intoFile(stage.dataDir, rotate(subscription.id), file);
    expect(await screen.ended()).toBe(0);
    expect(await Bun.file(file).text()).toContain("whsec_");
    expect(receiver.requests).toEqual([]);
    await receiver[Symbol.asyncDispose]();
  });

  test("is not over while the receiver accepts forged requests", async () => {
    await using listener = await stage.listen({ name: "Gullible" });
    await json(...rotate("Gullible"));
    const refused = await runRefused(stage.dataDir, rotate("Gullible"));
    expect(refused.message).toContain("accepts a forged request too, so it proves nothing");
    await json("webhooks", "ping", "Gullible");
    expect(signatureOf(await listener.receiver.nth(3)).digests).toHaveLength(2);
    const both = await run(stage.dataDir, [...rotate("Gullible"), "--overlap", "1h"]);
    expect(both.status).toBe(2);
  });
});
