import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import type { Explained, ExplainedEvent } from "../../src/deliveries/explain.ts";
import type { ListedAttempt } from "../../src/deliveries/attempt-search.ts";
import { deleteHold, insertHold } from "../../src/deliveries/hold-store.ts";
import { insertEvent } from "../../src/outbox/event-store.ts";
import { beginFanOut } from "../../src/outbox/fan-outs.ts";
import { deleteSubscription } from "../../src/subscriptions/subscriptions.ts";
import { now } from "../../src/system/repeatable.ts";
import { onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { type Listener, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";
import { actor } from "../support/workspace.ts";

const failing = () => new Response(null, { status: 500 });
const settings = {
  WEBHOOKS_MAX_ATTEMPTS: "2",
  WEBHOOKS_BACKOFF_BASE: "0.05",
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
};

let stage: WebhookStage;
let channel: ChannelRow;
const listeners: Listener[] = [];
beforeAll(async () => {
  stage = await startWebhookStage(settings);
  channel = await stage.channel();
});
afterAll(async () => {
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

async function listen(name: string, input: object = {}, answer?: typeof failing): Promise<Listener> {
  const listener = await stage.listen({ name, events: ["message.created"], ...input }, answer);
  listeners.push(listener);
  return listener;
}

async function explain(id: string, environment = {}, ...more: string[]): Promise<ExplainedEvent[]> {
  const args = ["deliveries", "explain", id, ...more];
  return await runJson<ExplainedEvent[]>(stage.dataDir, args, { ...settings, ...environment });
}

/** The explanation of one subscription, whose parts add up to its age. */
function of(explained: readonly ExplainedEvent[], name: string): Explained {
  const found = explained[0]?.webhooks.find(({ webhook }) => webhook.name === name);
  if (!found) throw new Error(`${name} is not explained`);
  if (found.age_ms !== null) {
    const sum = found.timeline.reduce((total, { duration_ms }) => total + duration_ms, 0);
    expect(sum, name).toBe(found.age_ms);
  }
  return found;
}

const causes = ({ timeline }: Explained) => timeline.map(({ cause }) => cause);

test("each subscription says what became of the event, and why it took as long as it did", async () => {
  const sound = await listen("Sound");
  const broken = await listen("Broken", {}, failing);
  await listen("Other type", { events: ["message.updated"] });
  await listen("Other channel", { channel_ids: [stage.team.general.id] });
  const off = await listen("Off");
  const resumed = await listen("Resumed");
  const dropped = await listen("Dropped");
  const gone = await listen("Gone");
  const early = await listen("Gone before");
  for (const { subscription } of [off, resumed, dropped, gone]) await stage.disable(subscription);
  await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, early.subscription.id, actor));
  const { id } = await stage.post(channel);
  for (const { subscription } of [sound, broken]) await stage.drained(subscription);
  await stage.enable(resumed.subscription);
  await stage.enable(dropped.subscription, true);
  await stage.drained(resumed.subscription);
  await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, gone.subscription.id, actor));
  await listen("Late");

  const explained = await explain(id);
  expect(explained).toHaveLength(1);
  expect(explained[0]?.event).toMatchObject({ type: "message.created", channel: { id: channel.id } });

  const delivered = of(explained, "Sound");
  expect(delivered).toMatchObject({ outcome: "delivered", why: "the receiver answered 204", due_at: null });
  expect(delivered.timeline.at(-1)?.what).toBe("attempt 1 of 2: the receiver answered 204");
  const [attempt] = await runJson<ListedAttempt[]>(stage.dataDir, [
    "deliveries",
    "list",
    "--webhook",
    "Sound",
  ]);
  const createdAt = Date.parse(explained[0]?.event.created_at ?? "");
  expect(delivered.age_ms).toBe(Date.parse(attempt?.created_at ?? "") - createdAt);

  const given = of(explained, "Broken");
  expect(given).toMatchObject({ outcome: "given_up", why: "all 2 attempts failed" });
  expect(given.timeline.filter(({ cause }) => cause === "attempt").map(({ what }) => what)).toEqual([
    "attempt 1 of 2: the receiver answered 500",
    "attempt 2 of 2: the receiver answered 500",
  ]);
  expect(given.timeline).toContainEqual(
    expect.objectContaining({ cause: "backoff", what: "backoff after attempt 1" }),
  );

  expect(of(explained, "Other type")).toMatchObject({
    outcome: "not_asked",
    why: "it asks for message.updated",
  });
  expect(of(explained, "Other channel")).toMatchObject({ outcome: "not_asked", why: "it asks for #general" });
  expect(of(explained, "Late")).toMatchObject({ outcome: "not_asked" });
  expect(of(explained, "Late").why).toStartWith("it was created later, at ");

  const waiting = of(explained, "Off");
  expect(waiting).toMatchObject({ outcome: "waiting", why: "waits until the subscription is enabled" });
  expect(causes(waiting)).toEqual(["disabled"]);
  expect(waiting.timeline[0]?.what).toMatch(/^the subscription was disabled at \S+Z by cli:test$/);

  const late = of(explained, "Resumed");
  expect(late.outcome).toBe("delivered");
  expect(causes(late)[0]).toBe("disabled");
  expect(causes(late).at(-1)).toBe("attempt");

  expect(of(explained, "Dropped")).toMatchObject({
    outcome: "discarded",
    why: "cli:test discarded what waited",
  });
  expect(causes(of(explained, "Dropped"))[0]).toBe("disabled");
  expect(of(explained, "Gone")).toMatchObject({ outcome: "deleted", why: "the subscription was deleted" });
  expect(explained[0]?.webhooks.map(({ webhook }) => webhook.name)).not.toContain("Gone before");

  // The event and the attempt lead to the same, and so does a part of an id.
  const webhooks = (found: ExplainedEvent[]) => found[0]?.webhooks.map(({ outcome }) => outcome);
  for (const reference of [explained[0]?.event.id ?? "", attempt?.id ?? "", attempt?.id.slice(-8) ?? ""])
    expect(webhooks(await explain(reference))).toEqual(webhooks(explained));
  const one = await explain(id, {}, "--webhook", "Sound");
  expect(one[0]?.webhooks.map(({ webhook }) => webhook.name)).toEqual(["Sound"]);

  await using screen = onTerminal(stage.dataDir, ["deliveries", "explain", id], settings);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain("Broken: given up after ");
  for (const line of screen.text.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
});

test("an event from before the subscription asked for its kind was not asked for, unlike one from before a new name", async () => {
  const own = await stage.channel();
  const widened = await listen("Widened", { channel_ids: [own.id], events: ["message.updated"] });
  const renamed = await listen("Renamed", { channel_ids: [own.id] });
  await stage.disable(renamed.subscription);
  const { id } = await stage.post(own);
  const args = ["webhooks", "edit", "Widened", "--event", "message.created"];
  await runJson(stage.dataDir, args, settings);
  await runJson(stage.dataDir, ["webhooks", "edit", "Renamed", "--name", "Other"], settings);
  const explained = await explain(id);
  expect(of(explained, "Widened").outcome).toBe("not_asked");
  expect(of(explained, "Widened").why).toStartWith("what it asks for was changed later, at ");
  expect(of(explained, "Other").outcome).toBe("waiting");
  expect(widened.receiver.requests).toEqual([]);
});

test("after failures in a row the time until the next attempt is called pace", async () => {
  const own = await stage.channel();
  await stage.restart({ WEBHOOKS_MAX_ATTEMPTS: "1", WEBHOOKS_BACKOFF_BASE: "2" });
  const paced = await listen("Paced", { channel_ids: [own.id] }, failing);
  let last = "";
  for (let nth = 1; nth <= 3; nth++) last = (await stage.post(own, `${nth}`)).id;
  await stage.drained(paced.subscription);
  const environment = { WEBHOOKS_MAX_ATTEMPTS: "1", WEBHOOKS_BACKOFF_BASE: "2" };
  const explained = of(await explain(last, environment), "Paced");
  expect(explained.outcome).toBe("given_up");
  expect(explained.timeline).toContainEqual(
    expect.objectContaining({
      cause: "pace",
      what: "paced: 2 attempts for this subscription had failed in a row",
    }),
  );
});

test("a blocked attempt names the rule that refuses the address", async () => {
  const own = await stage.channel();
  const blocked = await listen("Blocked", { channel_ids: [own.id] });
  await stage.restart({ ...settings, WEBHOOKS_BLOCK_PRIVATE_URLS: "true" });
  const { id } = await stage.post(own);
  await stage.drained(blocked.subscription);
  const explained = of(await explain(id, { WEBHOOKS_BLOCK_PRIVATE_URLS: "true" }), "Blocked");
  expect(explained.outcome).toBe("given_up");
  expect(explained.timeline.at(-1)?.what).toMatch(
    /^attempt 2 of 2: blocked: the URL is not publicly reachable \(now: .*127\.0\.0\.1.*\)$/,
  );
  const allowed = of(await explain(id), "Blocked");
  expect(allowed.timeline.at(-1)?.what).toEndWith("(the address is allowed now)");
  await stage.restart(settings);
});

test("what is held, is being queued, or may not be seen by the creator says so", async () => {
  const own = await stage.channel("private");
  const waiting = await listen("Waiting", { channel_ids: [own.id] });
  await stage.stop();
  const { id } = await stage.workspace.message(own, stage.team.owner);
  expect(of(await explain(id), "Waiting")).toMatchObject({
    outcome: "waiting",
    why: "is due, and waits for its turn",
  });
  expect(causes(of(await explain(id), "Waiting"))).toEqual(["turn"]);

  const held = { since: now(), kind: "older_copy", reason: "test", lastEvent: 1, markers: "[]" } as const;
  await stage.database.write((tx) => insertHold(tx, held));
  expect(causes(of(await explain(id), "Waiting")).at(-1)).toBe("held");
  await runJson(stage.dataDir, ["deliveries", "release", "--webhook", "Waiting", "--yes"], settings);
  const released = of(await explain(id), "Waiting").timeline;
  expect(released.map(({ cause }) => cause)).toEqual(["held", "turn"]);
  expect(released[0]?.what).toMatch(/^deliveries were held until cli:.* released them$/);
  await stage.database.write((tx) => deleteHold(tx));

  const data = JSON.stringify({ id, channel_id: own.id });
  const event = {
    id: Bun.randomUUIDv7(),
    type: "message.created" as const,
    data,
    createdAt: now(),
    traceparent: null,
  };
  await stage.database.write((tx) => {
    const eventSeq = insertEvent(tx, event);
    beginFanOut(tx, { teamId: stage.team.id, channelId: own.id, eventSeq });
  });
  expect(of(await explain(event.id), "Waiting").outcome).toBe("queueing");
  expect(causes(of(await explain(event.id), "Waiting"))).toEqual(["fan_out"]);

  await stage.restart(settings);
  await stage.drained(waiting.subscription);
});

test("what the creator may not see is withheld", async () => {
  const own = await stage.channel("private");
  const bot = await stage.bot(own);
  const { token } = await stage.workspace.token(bot);
  const creators = { ...settings, WEBHOOKS_VISIBILITY: "creator" };
  await stage.restart(creators);
  const body = { name: "Of a bot", url: listeners[0]?.receiver.url, events: ["message.created"] };
  const made = await fetch(`${stage.server.url}/api/v1/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { data } = (await made.json()) as { data: { id: string } };
  await stage.disable(data);
  const { id } = await stage.post(own);
  await stage.workspace.leave(own, bot);
  await stage.enable(data);
  await stage.drained(data);
  const explained = of(await explain(id, creators), "Of a bot");
  expect(explained.outcome).toBe("withheld");
  expect(explained.why).toContain("WEBHOOKS_VISIBILITY=creator");
  expect(causes(explained).at(-1)).toBe("withheld");
  await stage.restart(settings);
});

test("a message that nobody asked for says so for each subscription", async () => {
  const { team, workspace } = stage;
  const other = await workspace.team("Quiet");
  const { id } = await workspace.message(other.general, other.owner);
  const { status, stdout } = await run(stage.dataDir, ["deliveries", "explain", id, "--team", "quiet"]);
  expect(status).toBe(0);
  expect(stdout).toContain("not stored");
  expect(stdout).toContain("there is no subscription");
  expect(
    (await runRefused(stage.dataDir, ["deliveries", "explain", id, "--team", "acme"])).status,
    team.id,
  ).toBe(3);
});
