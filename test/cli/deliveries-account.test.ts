import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Account } from "../../src/deliveries/account.ts";
import { insertEvent } from "../../src/outbox/event-store.ts";
import { beginFanOut } from "../../src/outbox/fan-outs.ts";
import { deleteSubscription } from "../../src/subscriptions/subscriptions.ts";
import { now } from "../../src/system/repeatable.ts";
import { run, runJson } from "../support/cli.ts";
import { rowsOf } from "../support/data.ts";
import { type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";
import { actor } from "../support/workspace.ts";

const settings = { WEBHOOKS_MAX_ATTEMPTS: "2" };

let stage: WebhookStage;
let channel: ChannelRow;
let sound: Listener;
let off: Listener;
beforeAll(async () => {
  stage = await startWebhookStage(settings);
  channel = await stage.channel();
  sound = await stage.listen({ name: "Sound" });
  off = await stage.listen({ name: "Off" });
});
afterAll(async () => {
  for (const listener of [sound, off]) await listener[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const accountFor = (...options: string[]) =>
  runJson<Account>(stage.dataDir, ["deliveries", "account", ...options], settings);

test("every event of every subscription is accounted for, whatever became of it", async () => {
  await using broken = await stage.listen({ name: "Broken" }, () => new Response(null, { status: 500 }));
  await using gone = await stage.listen({ name: "Gone" });
  await using dropped = await stage.listen({ name: "Dropped" });
  await using _ = await stage.listen({ name: "Other type", events: ["message.deleted"] });
  for (const { subscription } of [off, gone, dropped]) await stage.disable(subscription);
  for (const body of ["one", "two"]) await stage.post(channel, body);
  for (const { subscription } of [sound, broken]) await stage.drained(subscription);
  await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, gone.subscription.id, actor));
  await stage.enable(dropped.subscription, true);
  await using __ = await stage.listen({ name: "Late" });

  expect(await accountFor()).toMatchObject({
    events: 2,
    delivered: 2,
    given_up: 2,
    waiting: 2,
    queueing: 0,
    discarded: 2,
    withheld: 0,
    missing: 0,
    holes: [],
  });
  expect(await accountFor("--since", "2099-01-01")).toMatchObject({ events: 0, delivered: 0, missing: 0 });
  const { stdout } = await run(stage.dataDir, ["deliveries", "account"], settings);
  expect(stdout).toMatch(/^missing +none$/m);
  for (const { subscription } of [broken, dropped])
    await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, subscription.id, actor));
});

test("an event that is still being queued for many subscriptions is no hole", async () => {
  const own = await stage.channel();
  await stage.stop();
  const before = await accountFor();
  const data = JSON.stringify({ id: Bun.randomUUIDv7(), channel_id: own.id });
  const row = {
    id: Bun.randomUUIDv7(),
    type: "message.created",
    data,
    createdAt: now(),
    traceparent: null,
  } as const;
  await stage.database.write((tx) => {
    beginFanOut(tx, { teamId: stage.team.id, channelId: own.id, eventSeq: insertEvent(tx, row) });
  });
  const { queueing, missing } = await accountFor();
  expect({ queueing: queueing - before.queueing, missing }).toEqual({ queueing: 3, missing: 0 });
  await stage.restart(settings);
  await stage.drained(sound.subscription);
});

test("a job or an attempt that is gone is a hole, which is named, with exit status 1", async () => {
  const { id } = await stage.post(channel, "lost");
  await stage.drained(sound.subscription);
  const [event] = await rowsOf<{ seq: number; id: string }>(
    stage.dataDir,
    "SELECT seq, id FROM events WHERE data LIKE ? ORDER BY seq DESC LIMIT 1",
    `%${id}%`,
  );
  const { seq, id: eventId } = event ?? { seq: 0, id: "" };
  await rowsOf(
    stage.dataDir,
    "DELETE FROM jobs WHERE subscription_id = ? AND event_seq = ?",
    off.subscription.id,
    seq,
  );
  await rowsOf(
    stage.dataDir,
    "DELETE FROM attempts WHERE subscription_id = ? AND event_seq = ?",
    sound.subscription.id,
    seq,
  );
  const { status, stdout } = await run(stage.dataDir, ["deliveries", "account", "--json"], settings);
  expect(status).toBe(1);
  const { message, data } = JSON.parse(stdout) as { message: string; data: Account };
  expect(message).toContain(`message.created ${eventId} for Off: no attempt`);
  expect(data.missing).toBe(2);
  const holes = data.holes.map(
    ({ event_id, webhook, attempts }) => `${event_id} ${webhook.name} ${attempts}`,
  );
  expect(new Set(holes)).toEqual(new Set([`${eventId} Off 0`, `${eventId} Sound 0`]));
});
