import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { SubscriptionHealth } from "../../src/deliveries/subscription-health.ts";
import type { WaitingEvent } from "../../src/deliveries/waiting.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { onTerminal, run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

type Shown = WebhookSubscription & { health: SubscriptionHealth };

let stage: WebhookStage;
let channel: ChannelRow;
let sound: Listener;
let failing: Listener;
let off: Listener;
let isFailing = false;

beforeAll(async () => {
  // Long enough that what has failed waits for its second attempt until the end of the test.
  stage = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "3600", WEBHOOKS_MAX_ATTEMPTS: "3" });
  channel = await stage.channel();
  sound = await stage.listen({ name: "Sound" });
  failing = await stage.listen(
    { name: "Failing" },
    () => new Response(null, { status: isFailing ? 500 : 204 }),
  );
  off = await stage.listen({ name: "Off" });
  await stage.disable(off.subscription);
  await stage.post(channel, "one");
  for (const { subscription } of [sound, failing]) await stage.drained(subscription);
  isFailing = true;
  await stage.post(channel, "two");
  await stage.drained(sound.subscription);
  const isSettled = async () => (await stage.shown(failing.subscription)).consecutive_failures === 1;
  await until("the failure is in the log", isSettled);
});
afterAll(async () => {
  for (const listener of [sound, failing, off]) await listener[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const shown = (name: string) => runJson<Shown>(stage.dataDir, ["webhooks", "show", name]);

const waiting = (name: string, ...more: string[]) =>
  runJson<WaitingEvent[]>(stage.dataDir, ["webhooks", "waiting", name, ...more]);

test("what waits for a disabled subscription is what it is sent once it is enabled, in that order", async () => {
  const [first, second, ...others] = await waiting("Off");
  const rest = { event_type: "message.created", channel_id: channel.id, attempts: 0, withheld: false };
  expect(first).toMatchObject({ ...rest, text: "one", next_due_at: null });
  expect(second).toMatchObject({ ...rest, text: "two", next_due_at: null });
  expect(others).toEqual([]);
  const { stdout, stderr } = await run(stage.dataDir, ["webhooks", "waiting", "Off", "--limit", "1"]);
  expect(stdout).toContain("one  ");
  expect(stdout).toContain("once enabled");
  expect(stdout).not.toContain("two");
  expect(stderr).toContain("2 events wait in all.");
  expect(stderr).toContain("Next: parley webhooks enable ");
});

test("what waits for a failing subscription has its attempts and when the next is due", async () => {
  const [event, ...others] = await waiting("Failing");
  expect(others).toEqual([]);
  expect(event).toMatchObject({ text: "two", attempts: 1 });
  const inMs = Date.parse(event?.next_due_at ?? "") - Date.now();
  expect(inMs).toBeGreaterThan(0);
  // An hour, and the jitter of a retry.
  expect(inMs).toBeLessThan(2 * 3_600_000);
  expect((await run(stage.dataDir, ["webhooks", "waiting", "Sound"])).stdout).toBe("");
  expect((await run(stage.dataDir, ["webhooks", "waiting", "Sound"])).stderr).toContain(
    "Nothing waits for Sound.",
  );
});

test("a subscription says since when it fails, why, how much waits and when it is tried again", async () => {
  const { health } = await shown("Failing");
  expect(health).toMatchObject({
    failures: { count: 1, is_more: false },
    last_error: "the receiver answered 500",
    waiting: { count: 1, is_more: false },
    old_secret_until: null,
    certificate_ends_at: null,
    day: { attempts: 2, succeeded: 1, is_sample: false },
  });
  expect(Date.parse(health.next_due_at ?? "")).toBeGreaterThan(Date.parse(health.failing_since ?? ""));
  expect(health.day.hours).toHaveLength(24);
  expect(health.day.hours.reduce((sum, count) => sum + count)).toBe(2);
  const { stdout } = await run(stage.dataDir, ["webhooks", "show", "Failing"]);
  expect(stdout).toMatch(/^status +failing since \d+ (ms|s) \(1 attempt, the receiver answered 500\)$/m);
  expect(stdout).toMatch(/^waiting +1 event, next in \d+ min$/m);
  expect(stdout).toMatch(
    /^last 24 hours +50 % of 2 attempts succeeded; half within \d+ ms, 95 % within \d+ ms$/m,
  );
  expect(stdout).toMatch(/^by the hour +█$/m);
});

test("one that works and one that is disabled say so", async () => {
  expect((await shown("Sound")).health).toMatchObject({
    failing_since: null,
    failures: { count: 0 },
    last_error: null,
    waiting: { count: 0 },
    next_due_at: null,
    day: { attempts: 2, succeeded: 2 },
  });
  expect((await shown("Off")).health).toMatchObject({
    waiting: { count: 2 },
    next_due_at: null,
    day: { attempts: 0, p50_ms: null, p95_ms: null },
  });
  const { stdout } = await run(stage.dataDir, ["webhooks", "show", "Off"]);
  expect(stdout).toMatch(/^status +disabled just now$/m);
  expect(stdout).toMatch(/^waiting +2 events$/m);
  expect(stdout).toMatch(/^last 24 hours +no attempts$/m);
});

test("after a rotation with an overlap the old secret's last moment is shown", async () => {
  await runJson(stage.dataDir, ["webhooks", "rotate-secret", "Sound", "--overlap", "24h", "--yes"]);
  const { old_secret_until } = (await shown("Sound")).health;
  expect(Date.parse(old_secret_until ?? "")).toBeGreaterThan(Date.now());
  const { stdout } = await run(stage.dataDir, ["webhooks", "show", "Sound"]);
  expect(stdout).toContain(`signs too until ${old_secret_until}`);
});

test("the list has all of it in 80 columns", async () => {
  await using screen = onTerminal(stage.dataDir, ["webhooks", "list"]);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toMatch(/^NAME +STATUS +FOR +WAIT +24 H +URL +ID$/m);
  expect(screen.text).toMatch(/^Failing +failing \(1\) +\d+ (ms|s) +1 +50 % +http:/m);
  expect(screen.text).toMatch(/^Sound +active +100 % +http:/m);
  expect(screen.text).toMatch(/^Off +disabled +\d+ (ms|s) +2 +http:/m);
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
});

test("what was to be tried again later comes first once a subscription is disabled", async () => {
  await stage.disable(failing.subscription);
  await stage.post(channel, "three");
  await until("both wait", async () => (await stage.queued(failing.subscription)) === 2);
  expect((await waiting("Failing", "--limit", "1")).map(({ text }) => text)).toEqual(["two"]);
});
