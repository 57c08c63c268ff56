import { describe, expect, test } from "bun:test";
import { countOf, rowsOf } from "../support/data.ts";
import { until } from "../support/conditions.ts";
import { hang, startReceiver, statuses } from "../support/receivers/receiver.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const dayMs = 86_400_000;

type Table = "attempts" | "events" | "jobs" | "subscriptions";

/** The tables of the delivery log: time passes here by changing what they hold, beside everything else. */
function tablesOf({ dataDir }: WebhookStage) {
  const count = (table: Table) => countOf(dataDir, table);
  return {
    count: async () => ({
      attempts: await count("attempts"),
      events: await count("events"),
      jobs: await count("jobs"),
    }),
    subscriptions: () => count("subscriptions"),
    /** Lets so many days pass over all that is there. */
    age: async (days: number) => {
      for (const table of ["attempts", "events"]) {
        await rowsOf(dataDir, `UPDATE ${table} SET created_at = created_at - ?`, days * dayMs);
      }
      await rowsOf(dataDir, "UPDATE subscriptions SET deleted_at = deleted_at - ?", days * dayMs);
    },
    /** Copies the attempts until there are so many, oldest first. */
    multiply: async (rows: number) => {
      const columns =
        "subscription_id, event_seq, event_id, event_type, succeeded, is_replay, duration_ms, created_at";
      for (let there = await count("attempts"); there < rows; there = await count("attempts")) {
        const source = `SELECT ${columns}, id || '-' || seq || '-${there}' FROM attempts ORDER BY seq LIMIT ?`;
        await rowsOf(dataDir, `INSERT INTO attempts (${columns}, id) ${source}`, rows - there);
      }
    },
  };
}

/** Starts the server again with so many days of retention, waits until it has swept, and returns what it says of that. */
async function restartAndSweep(stage: WebhookStage, days: string): Promise<Record<string, unknown>> {
  await stage.restart({ WEBHOOKS_DELIVERY_RETENTION_DAYS: days });
  return await stage.server.logLine((line) => line.msg === "retention.swept");
}

describe("when the server starts", () => {
  test("attempts older than the setting are deleted, with events that only they refer to; newer ones are kept", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    const tables = tablesOf(stage);
    for (const body of ["old", "also old"]) await stage.post(stage.team.general, body);
    await stage.drained(listener.subscription);
    await tables.age(10);
    await stage.post(stage.team.general, "young");
    await stage.drained(listener.subscription);
    await tables.age(21);
    expect(await tables.count()).toEqual({ attempts: 3, events: 3, jobs: 0 });

    await restartAndSweep(stage, "");
    expect(await tables.count()).toEqual({ attempts: 1, events: 1, jobs: 0 });
    const { deliveries } = await stage.shown(listener.subscription);
    const young = listener.receiver.requests.find(({ text }) => text.includes('"young"'));
    expect(deliveries.map(({ event_id }) => event_id)).toEqual([
      young?.headers.get("x-service-delivery") ?? "",
    ]);

    await restartAndSweep(stage, "21");
    expect((await tables.count()).attempts).toBe(0);
    expect((await tables.count()).events).toBe(0);
    expect(listener.receiver.requests).toHaveLength(3);
  });

  test("0 days keep every attempt for ever", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    const tables = tablesOf(stage);
    await stage.post(stage.team.general);
    await stage.drained(listener.subscription);
    await tables.age(36_500);
    await restartAndSweep(stage, "0");
    expect(await tables.count()).toEqual({ attempts: 1, events: 1, jobs: 0 });
  });

  test("0 days keep no jobs of a deleted subscription, but every event: feeds can be read from any of them", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_DELIVERY_RETENTION_DAYS: "0" });
    await using kept = await stage.listen({ events: ["message.created"] });
    await using deleted = await stage.listen({ events: ["message.updated"] }, hang);
    const tables = tablesOf(stage);
    const { id } = await stage.post(stage.team.general);
    await stage.drained(kept.subscription);
    await stage.api.patch(`/channels/${stage.team.general.id}/messages/${id}`, { body: "edited" });
    await deleted.receiver.nth(1);
    await stage.api.del(`/webhooks/${deleted.subscription.id}`);
    await stage.server.kill9();
    expect(await tables.count()).toEqual({ attempts: 1, events: 2, jobs: 1 });

    await stage.server.start();
    const swept = await stage.server.logLine((line) => line.msg === "retention.swept" && line.jobs === 1);
    expect(swept).toMatchObject({ attempts: 0, events: 0 });
    expect(await tables.count()).toEqual({ attempts: 1, events: 2, jobs: 0 });
  });

  test("a deleted subscription is removed with its secret as soon as nothing in the log refers to it", async () => {
    await using stage = await startWebhookStage();
    await using kept = await stage.listen({ events: ["message.created"] });
    await using logged = await stage.listen({ events: ["message.created"] });
    await using unused = await stage.listen({ events: ["message.deleted"] });
    const tables = tablesOf(stage);
    await stage.post(stage.team.general);
    for (const { subscription } of [kept, logged]) await stage.drained(subscription);
    for (const { subscription } of [logged, unused]) await stage.api.del(`/webhooks/${subscription.id}`);
    expect(await restartAndSweep(stage, "30")).toMatchObject({ subscriptions: 0 });
    await tables.age(2);
    expect(await restartAndSweep(stage, "30")).toMatchObject({ attempts: 0, subscriptions: 1 });
    await tables.age(29);
    expect(await restartAndSweep(stage, "30")).toMatchObject({ attempts: 2, subscriptions: 1 });
    expect(await tables.subscriptions()).toBe(1);
    expect(await stage.shown(kept.subscription)).toMatchObject({
      id: kept.subscription.id,
      status: "active",
    });
  });

  test("an attempt logged while the clock was ahead keeps none of those after it", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    const tables = tablesOf(stage);
    await stage.post(stage.team.general);
    await stage.drained(listener.subscription);
    await tables.multiply(300);
    await tables.age(31);
    const inAYear = Date.now() + 365 * dayMs;
    await rowsOf(stage.dataDir, "UPDATE attempts SET created_at = ? WHERE seq <= 250", inAYear);
    expect(await restartAndSweep(stage, "30")).toMatchObject({ attempts: 50 });
    expect(await tables.count()).toEqual({ attempts: 250, events: 1, jobs: 0 });
  });

  test("an event that is still queued is kept, however old, and is delivered", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600" });
    await using listener = await stage.listen({ events: ["message.created"] }, statuses(500, 204));
    const tables = tablesOf(stage);
    await stage.post(stage.team.general, "patient");
    await until(
      "it is logged",
      async () => (await stage.shown(listener.subscription)).deliveries.length === 1,
    );
    await stage.disable(listener.subscription);
    await tables.age(100);
    expect(await restartAndSweep(stage, "30")).toMatchObject({ attempts: 1, events: 0, jobs: 0 });
    expect(await tables.count()).toEqual({ attempts: 0, events: 1, jobs: 1 });
    await stage.enable(listener.subscription);
    expect((await listener.delivered()).map(({ data }) => data.body)).toEqual(["patient", "patient"]);
  });

  test("the jobs of a deleted subscription are deleted, and none of other subscriptions", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600" });
    await using kept = await stage.listen({ events: ["message.created"] }, statuses(500));
    await using deleted = await stage.listen({ events: ["message.created"] }, statuses(500));
    const tables = tablesOf(stage);
    await stage.post(stage.team.general);
    for (const { receiver } of [kept, deleted]) await receiver.nth(1);
    await stage.api.del(`/webhooks/${deleted.subscription.id}`);
    await restartAndSweep(stage, "30");
    expect((await tables.count()).jobs).toBe(1);
    expect([await stage.queued(kept.subscription), await stage.queued(deleted.subscription)]).toEqual([1, 0]);
    expect(deleted.receiver.requests).toHaveLength(1);
  });

  test("thousands of old attempts are deleted while messages are posted and delivered", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    const tables = tablesOf(stage);
    await stage.post(stage.team.general);
    await stage.drained(listener.subscription);
    await tables.multiply(5_000);
    await tables.age(31);
    await stage.restart();
    for (let nth = 0; nth < 10; nth++) await stage.post(stage.team.general, `meanwhile ${nth}`);
    const swept = await stage.server.logLine((line) => line.msg === "retention.swept");
    expect(swept).toMatchObject({ attempts: 5_000, events: 1 });
    await stage.drained(listener.subscription);
    expect(await tables.count()).toEqual({ attempts: 10, events: 10, jobs: 0 });
  });

  test("attempts logged while the clock was wrong take no others with them", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    const tables = tablesOf(stage);
    await stage.post(stage.team.general, "written in the past");
    await stage.drained(listener.subscription);
    await tables.age(100);
    const [past] = (await stage.shown(listener.subscription)).deliveries;
    await stage.post(stage.team.general, "written now");
    await stage.drained(listener.subscription);
    // The log's place says that the one of the past came last.
    await rowsOf(stage.dataDir, "UPDATE attempts SET seq = 1000 WHERE id = ?", past?.id ?? "");
    await restartAndSweep(stage, "30");
    const { deliveries } = await stage.shown(listener.subscription);
    expect(deliveries).toHaveLength(1);
    expect(deliveries[0]?.id).not.toBe(past?.id ?? "");
  });
});

test("retention runs while the integrations are switched off", async () => {
  await using stage = await startWebhookStage();
  await using receiver = startReceiver();
  const subscription = await stage.subscribe(receiver, { events: ["message.created"] });
  const tables = tablesOf(stage);
  await stage.post(stage.team.general);
  await stage.drained(subscription);
  await tables.age(31);
  await stage.restart({ INTEGRATIONS_ENABLED: "false" });
  await stage.server.logLine((line) => line.msg === "retention.swept");
  expect(await tables.count()).toEqual({ attempts: 0, events: 0, jobs: 0 });
});
