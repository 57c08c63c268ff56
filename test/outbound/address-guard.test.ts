import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../support/conditions.ts";
import { type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** The guard is on, as it is unless somebody switches it off, and the receivers of these tests are on this machine. */
const guarded = { WEBHOOKS_BLOCK_PRIVATE_URLS: "", WEBHOOKS_MAX_ATTEMPTS: "3", WEBHOOKS_DISABLE_AFTER: "4" };

let stage: WebhookStage;
let listener: Listener;
let named: { id: string };
beforeAll(async () => {
  stage = await startWebhookStage();
  listener = await stage.listen({ events: ["message.created"] });
  const { port } = new URL(listener.receiver.url);
  named = await stage.subscribe({ url: `http://localhost:${port}/hook` }, { events: ["message.created"] });
  await stage.restart(guarded);
});
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

describe("when the guard is switched on after a private address was registered", () => {
  test("each attempt is blocked, logged as failed, retried and counted like any other", async () => {
    await stage.post(stage.team.general, "secret");
    for (const subscription of [listener.subscription, named]) {
      await stage.drained(subscription);
      const shown = await stage.shown(subscription);
      expect(shown).toMatchObject({ status: "active", consecutive_failures: 3, last_success_at: null });
      expect(shown.deliveries).toHaveLength(3);
      for (const { succeeded, response_status } of shown.deliveries) {
        expect({ succeeded, response_status }).toEqual({ succeeded: false, response_status: null });
      }
    }
  });

  test("nothing connects to the address", () => {
    expect(listener.receiver.requests).toEqual([]);
  });

  test("the error says that it was blocked, in the same words for every reason, and names no address", async () => {
    const errors = new Set<string | null>();
    for (const subscription of [listener.subscription, named]) {
      for (const { error } of (await stage.shown(subscription)).deliveries) errors.add(error);
    }
    expect([...errors]).toEqual(["blocked: the URL is not publicly reachable"]);
  });

  test("the server's log tells the operator what was wrong", async () => {
    const isOf = (id: string) => (line: Record<string, unknown>) =>
      line.msg === "delivery.attempted" && line.webhook === id;
    expect(await stage.server.logLine(isOf(listener.subscription.id))).toMatchObject({
      outcome: "blocked",
      detail: expect.stringContaining("127.0.0.1"),
    });
    expect(await stage.server.logLine(isOf(named.id))).toMatchObject({
      outcome: "blocked",
      detail: expect.stringContaining("localhost"),
    });
  });

  test("the subscription is disabled in the end, and delivers again once the guard is off and it is enabled", async () => {
    await stage.post(stage.team.general, "patient");
    const isDisabled = async () => (await stage.shown(listener.subscription)).status === "disabled";
    await until("it is disabled", isDisabled);
    const [entry] = (await stage.audit("webhook.auto_disabled")).filter(({ target }) =>
      target.endsWith(listener.subscription.id),
    );
    expect(entry).toMatchObject({
      actor: "parley",
      details: { error: "blocked: the URL is not publicly reachable" },
    });
    await stage.restart();
    expect(listener.receiver.requests).toEqual([]);
    await stage.enable(listener.subscription);
    expect((await listener.delivered()).map(({ data }) => data.body)).toEqual(["patient"]);
  });
});
