import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { AuditEntry } from "../../src/audit/audit.ts";
import { replayFailed } from "../../src/deliveries/replay-failed.ts";
import { keys, onTerminal, run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { actor } from "../support/workspace.ts";
import { envelopeOf, type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const broken = () => new Response(null, { status: 500 });
const sound = () => new Response();

let stage: WebhookStage;
let channel: ChannelRow;
beforeAll(async () => {
  stage = await startWebhookStage({ WEBHOOKS_MAX_ATTEMPTS: "2" });
  channel = await stage.channel();
});
afterAll(() => stage[Symbol.asyncDispose]());

type Replayed = { events: number; dry_run: boolean };
const period = ["--since", "1h"];

async function replay(of: Listener, ...more: string[]): Promise<Replayed> {
  const args = ["deliveries", "replay", "--failed", "--webhook", of.subscription.id, ...more];
  return await runJson<Replayed>(stage.dataDir, args);
}

/** A receiver that accepted "before", and then gave these up after two attempts each. */
async function failingAfterOne(...bodies: string[]): Promise<Listener> {
  const listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
  await stage.post(channel, "before");
  await stage.drained(listener.subscription);
  listener.receiver.answer = broken;
  for (const body of bodies) await stage.post(channel, body);
  await stage.drained(listener.subscription);
  return listener;
}

const bodiesFrom = ({ receiver }: Listener, from: number) =>
  receiver.requests.slice(from).map((request) => envelopeOf(request).data.body);

test("each event that was given up is sent once more, in its order, and again nothing the second time", async () => {
  await using listener = await failingAfterOne("one", "two", "three");
  const before = listener.receiver.requests.length;
  expect(before).toBe(7);
  expect(await replay(listener, ...period, "--dry-run")).toMatchObject({ events: 3, dry_run: true });
  expect(await stage.queued(listener.subscription)).toBe(0);
  listener.receiver.answer = sound;
  expect(await replay(listener, ...period, "--yes")).toMatchObject({ events: 3, dry_run: false });
  await stage.drained(listener.subscription);
  expect(bodiesFrom(listener, before)).toEqual(["one", "two", "three"]);
  expect(await replay(listener, ...period, "--yes")).toMatchObject({ events: 0 });
  expect(listener.receiver.requests).toHaveLength(10);
  const [entry] = await runJson<AuditEntry[]>(stage.dataDir, [
    "audit",
    "list",
    "--action",
    "webhook.failed_replayed",
  ]);
  expect(entry).toMatchObject({ target: `webhook:${listener.subscription.id}` });
});

test("events that wait for another attempt, and those outside the time, are left out", async () => {
  await using listener = await failingAfterOne("given up");
  await using slow = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "3600" });
  await using waiting = await slow.listen({ events: ["message.created"] }, broken);
  await slow.post(await slow.channel());
  await until("it failed once", async () => (await slow.shown(waiting.subscription)).deliveries.length > 0);
  const args = ["deliveries", "replay", "--failed", "--webhook", waiting.subscription.id, ...period, "--yes"];
  expect(await runJson<Replayed>(slow.dataDir, args)).toMatchObject({ events: 0 });
  const long = new Date(Date.now() + 3_600_000).toISOString();
  expect(await replay(listener, "--since", long, "--dry-run")).toMatchObject({ events: 0 });
  expect(await replay(listener, "--since", "7d", "--until", "1d", "--dry-run")).toMatchObject({ events: 0 });
  expect(await replay(listener, "--since", "7d", "--dry-run")).toMatchObject({ events: 1 });
});

test("two that run at once, and one that is interrupted, queue nothing twice", async () => {
  await using listener = await failingAfterOne(...Array.from({ length: 12 }, (_, n) => `message ${n}`));
  const { id } = listener.subscription;
  await stage.disable({ id });
  const { database, team } = stage;
  const all = { since: 0, until: Date.now() };
  const begin = () => replayFailed(database, team.id, id, all, actor);
  // Both have looked before either has queued.
  const [first, second] = [begin(), begin()];
  await Promise.all([first.next(), second.next()]);
  await Promise.all([first.return(undefined), second.return(undefined)]);
  const ofBoth = await stage.queued({ id });
  expect(ofBoth).toBeGreaterThan(0);
  expect(ofBoth).toBeLessThan(12);
  for await (const queued of begin()) expect(queued).toBeLessThanOrEqual(12 - ofBoth);
  expect(await stage.queued({ id })).toBe(12);
  for await (const queued of begin()) throw new Error(`${queued} were queued again`);
  const before = listener.receiver.requests.length;
  listener.receiver.answer = sound;
  await stage.enable({ id });
  await stage.drained({ id });
  expect(bodiesFrom(listener, before)).toEqual(Array.from({ length: 12 }, (_, n) => `message ${n}`));
});

test("one that is interrupted says how far it came, and the same command does the rest", async () => {
  await using own = await startWebhookStage({
    WEBHOOKS_MAX_ATTEMPTS: "1",
    WEBHOOKS_BACKOFF_BASE: "0.001",
    WEBHOOKS_DISABLE_AFTER: "1000",
  });
  await using listener = await own.listen({ events: ["message.created"] }, broken);
  const { subscription } = listener;
  const room = await own.channel();
  // So many take most of a second to queue.
  await Promise.all(Array.from({ length: 200 }, () => own.post(room)));
  await own.drained(subscription);
  await own.disable(subscription);
  const args = ["deliveries", "replay", "--failed", "--webhook", subscription.id, ...period, "--yes"];
  await using screen = onTerminal(own.dataDir, args);
  await screen.shows("Queueing: ");
  screen.type(keys.interrupt);
  expect(await screen.ended()).toBe(1);
  const queued = await own.queued(subscription);
  expect(queued).toBeLessThan(200);
  expect(screen.text).toContain(`error: Interrupted when ${queued} events of 200 were queued again.`);
  expect(screen.text).toContain("Run the command again for the rest");
  expect(await runJson<Replayed>(own.dataDir, args)).toMatchObject({ events: 200 - queued });
  expect(await own.queued(subscription)).toBe(200);
});

test("without a terminal it needs --yes, and says what it takes", async () => {
  await using listener = await failingAfterOne("one");
  const { id } = listener.subscription;
  const replaying = ["deliveries", "replay", "--failed"];
  for (const [args, said] of [
    [[...replaying, "--webhook", id, ...period], "--yes"],
    [[...replaying, "--webhook", id], "--since"],
    [[...replaying, ...period], "--webhook"],
    [[...replaying, "0199e7a4", "--webhook", id, ...period], "not both"],
    [["deliveries", "replay", "0199e7a4", "--dry-run"], "go with --failed"],
  ] as const) {
    const refused = await run(stage.dataDir, [...args]);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining(said) as unknown as string]);
  }
  expect(await stage.queued({ id })).toBe(0);
});
