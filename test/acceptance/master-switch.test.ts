import { describe, expect, test } from "bun:test";
import { readAnswer } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { statuses } from "../support/receivers/receiver.ts";
import { envelopeOf, ingestDigest, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const off = { INTEGRATIONS_ENABLED: "false" };

/** Waits until the first attempt of the subscription is in the log. */
async function attempted(stage: WebhookStage, subscription: { id: string }): Promise<void> {
  const hasAttempt = async () => (await stage.shown(subscription)).deliveries.length > 0;
  await until("an attempt is logged", hasAttempt);
}

describe("with INTEGRATIONS_ENABLED=false", () => {
  test("every address of the API and of webhooks is 404, whoever asks and however", async () => {
    await using stage = await startWebhookStage();
    const channel = await stage.channel();
    const hook = await stage.incoming(channel, { signed: true });
    await stage.restart(off);
    const body = '{"text":"hello"}';
    const signature = { "x-signature-256": ingestDigest(body, hook.secret) };
    expect((await stage.send(hook.token, body, signature)).status).toBe(404);
    expect((await stage.send(hook.token, "{")).status).toBe(404);
    expect((await stage.send("unknown", body)).status).toBe(404);
    for (const method of ["GET", "POST", "PUT", "DELETE", "OPTIONS"]) {
      for (const path of ["/api/v1/webhooks", "/api/v1/channels", `/webhooks/incoming/${hook.token}`]) {
        const response = await fetch(stage.server.url + path, { method });
        expect({ method, path, status: response.status }).toEqual({ method, path, status: 404 });
        expect(Object.keys((await response.json()) as object)).toEqual(["message"]);
      }
    }
    expect((await stage.api.get("/webhooks")).status).toBe(404);
    const health = await fetch(`${stage.server.url}/healthz`);
    expect((await readAnswer("GET /healthz", health)).status).toBe(200);
    await stage.restart();
    expect(await stage.messages(channel)).toEqual([]);
  });

  test("nothing is delivered: what was queued waits, and goes out after a start with it on", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "0.3" });
    const channel = await stage.channel();
    await using listener = await stage.listen({ channel_ids: [channel.id] }, statuses(500, 204));
    const message = await stage.post(channel);
    await attempted(stage, listener.subscription);
    await stage.restart(off);

    // The retry falls due while the switch is off, and another process queues something new and says so.
    const bot = await stage.bot(channel);
    const started = await stage.server.logLine((line) => line.msg === "server.started");
    expect(started).toMatchObject({ integrations_enabled: false });
    await until("the retry is due", () => Date.now() - (listener.receiver.requests[0]?.at ?? 0) > 400);
    expect(await stage.queued(listener.subscription)).toBe(3);
    expect(listener.receiver.requests).toHaveLength(1);

    await stage.restart();
    const envelopes = await listener.delivered();
    expect(envelopes.map(({ type }) => type).sort()).toEqual([
      "channel.member_added",
      "message.created",
      "message.created",
      "message.created",
    ]);
    expect(envelopes.filter(({ data }) => data.id === message.id)).toHaveLength(2);
    expect(envelopes.find(({ type }) => type === "channel.member_added")?.data).toMatchObject({
      user: { id: bot.id },
    });
    expect(listener.receiver.requests.map(envelopeOf)).toEqual(envelopes);
  });
});
