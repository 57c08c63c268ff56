import { describe, expect, test } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import { editMessage, postMessage } from "../../src/messages/messages.ts";
import { pendingOf } from "../../src/subscriptions/status.ts";
import { deleteSubscription } from "../../src/subscriptions/subscriptions.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { subjectOf } from "../../src/users/users.ts";
import { columnOf, countOf, rowsOf } from "../support/data.ts";
import { run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { hang, startReceiver } from "../support/receivers/receiver.ts";
import { actor } from "../support/workspace.ts";
import { startCreatorStage } from "../support/creator-stage.ts";
import { type Numbered, requestsFor, subscribeOften, textsFor } from "./many-subscriptions.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** More than are queued with the event itself, and more than fit into a few steps. */
const many = 420;

function count(stage: WebhookStage, table: "jobs" | "fan_outs" | "events"): Promise<number> {
  return countOf(stage.dataDir, table);
}

/** The subscription id of each queued job. */
function queuedFor(stage: WebhookStage): Promise<string[]> {
  return columnOf(stage.dataDir, "SELECT subscription_id FROM jobs ORDER BY subscription_id");
}

/** Waits until no jobs and no fan-outs are left. */
async function allDelivered(stage: WebhookStage): Promise<void> {
  const isDone = async () => (await count(stage, "fan_outs")) === 0 && (await count(stage, "jobs")) === 0;
  await until("everything is delivered", isDone);
}

/** The owner posts while no server runs, as through a command: the event still has to be fanned out afterwards. */
async function postWithoutServer(stage: WebhookStage, body = "hello"): Promise<void> {
  await stage.workspace.message(stage.team.general, stage.team.owner, body);
}

async function remove(stage: WebhookStage, { id }: Numbered): Promise<void> {
  await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, id, actor));
}

function once(subscriptions: readonly Numbered[]): number[] {
  return subscriptions.map(() => 1);
}

describe("an event with hundreds of subscriptions", () => {
  test("reaches each once, for the workspace or its channel, and none for another channel", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    const [here, elsewhere] = [await stage.channel(), await stage.channel()];
    const everywhere = await subscribeOften(stage, receiver, many);
    const those = await subscribeOften(stage, receiver, many, { channel_ids: [elsewhere.id, here.id] });
    const others = await subscribeOften(stage, receiver, many, { channel_ids: [elsewhere.id] });
    const uninterested = await subscribeOften(stage, receiver, 3, { events: ["reaction.added"] });
    const message = await stage.post(here);
    await allDelivered(stage);
    expect(requestsFor(receiver, everywhere)).toEqual(once(everywhere));
    expect(requestsFor(receiver, those)).toEqual(once(those));
    expect(receiver.requests).toHaveLength(2 * many);
    expect(requestsFor(receiver, [...others, ...uninterested])).not.toContain(1);
    const texts = new Set(receiver.requests.map(({ text }) => text));
    expect(texts.size).toBe(1);
    expect(JSON.parse([...texts].join(""))).toMatchObject({ type: "message.created", data: message });
  });

  test("reaches those that existed when it happened, whatever is created and deleted right afterwards", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver(hang);
    const before = await subscribeOften(stage, receiver, many);
    await stage.post(stage.team.general);
    await subscribeOften(stage, receiver, 1);
    await subscribeOften(stage, receiver, 1, { channel_ids: [stage.team.general.id] });
    await until("it is queued for all of them", async () => (await count(stage, "fan_outs")) === 0);
    expect(await queuedFor(stage)).toEqual(before.map(({ id }) => id).toSorted());
  });

  test("is not for a subscription created before it was queued, nor for one deleted or disabled by then", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    const before = await subscribeOften(stage, receiver, many);
    const [deleted, disabled, ...rest] = before;
    if (!deleted || !disabled) throw new Error("there are none");
    await stage.stop();
    await postWithoutServer(stage, "one");
    const between = await subscribeOften(stage, receiver, 150);
    await postWithoutServer(stage, "two");
    const after = await subscribeOften(stage, receiver, 5);
    await remove(stage, deleted);
    await stage.disable(disabled);
    expect(await count(stage, "jobs")).toBe(0);
    await stage.restart();
    await until("all is queued", async () => (await count(stage, "fan_outs")) === 0);
    for (const subscription of [...rest, ...between]) await stage.drained(subscription);
    expect(rest.map((subscription) => textsFor(receiver, subscription).toSorted())).toEqual(
      rest.map(() => ["one", "two"]),
    );
    expect(between.flatMap((subscription) => textsFor(receiver, subscription))).toEqual(
      between.map(() => "two"),
    );
    expect(requestsFor(receiver, [deleted, disabled, ...after])).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(await stage.queued(disabled)).toBe(2);
    await stage.enable(disabled);
    await stage.drained(disabled);
    expect(textsFor(receiver, disabled)).toEqual(["one", "two"]);
  });

  test("comes before later events, even for a subscription that is the only one to get those", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    await subscribeOften(stage, receiver, many);
    await using last = await stage.listen({ events: webhookEvents });
    await stage.stop();
    const owner = subjectOf(stage.team.owner);
    for (const body of ["one", "two"]) {
      await stage.database.write((tx) => {
        const { id } = postMessage(tx, owner, stage.team.general.id, { body });
        return editMessage(tx, owner, stage.team.general.id, id, { body: `${body}, edited` });
      });
    }
    expect(await count(stage, "jobs")).toBe(0);
    await stage.restart();
    await allDelivered(stage);
    // Jobs are sent one at a time until the receiver has responded to the first.
    const [first, ...others] = (await last.delivered()).map(({ data }) => data.body);
    expect(first).toBe("one");
    expect(new Set(others)).toEqual(new Set(["one, edited", "two", "two, edited"]));
  });
});

describe("an event caused by a command", () => {
  const add = (stage: WebhookStage, person: string) =>
    run(stage.dataDir, ["channels", "add-member", "general", person, "--json"]);

  test("reaches hundreds of subscriptions through the running server", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    await stage.workspace.person(stage.team.id, "Newcomer");
    const subscribed = await subscribeOften(stage, receiver, many, { events: ["channel.member_added"] });
    expect(await add(stage, "Newcomer")).toMatchObject({ status: 0 });
    await receiver.received(many);
    await allDelivered(stage);
    expect(requestsFor(receiver, subscribed)).toEqual(once(subscribed));
  });

  test("reaches them once, after the next start, when none is running", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    await stage.workspace.person(stage.team.id, "Newcomer");
    const subscribed = await subscribeOften(stage, receiver, many, { events: ["channel.member_added"] });
    await stage.stop();
    expect(await add(stage, "Newcomer")).toMatchObject({ status: 0 });
    expect([await count(stage, "jobs"), await count(stage, "events")]).toEqual([0, 1]);
    await stage.restart();
    await allDelivered(stage);
    expect(requestsFor(receiver, subscribed)).toEqual(once(subscribed));
    await stage.restart();
    await allDelivered(stage);
    expect(receiver.requests).toHaveLength(many);
  });
});

describe("while an event is still being queued", () => {
  test("`webhooks enable` counts it as waiting, and drops it with the others on request", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    const [first, second, ...rest] = await subscribeOften(stage, receiver, many);
    if (!first || !second) throw new Error("there are none");
    for (const subscription of [first, second]) await stage.disable(subscription);
    await stage.post(stage.team.general, "queued");
    await until("all is queued", async () => (await count(stage, "fan_outs")) === 0);
    await stage.stop();
    await postWithoutServer(stage, "still to be queued");
    const oldest = (await stage.database.ask((db) => pendingOf(db, stage.team.id, first.id))).since;

    type Enabled = { pending: { count: number; since: string | null } };
    const enable = async ({ id }: Numbered, ...options: string[]) =>
      await runJson<Enabled>(stage.dataDir, ["webhooks", "enable", id, ...options]);
    expect((await enable(first)).pending).toEqual({ count: 2, since: oldest });
    expect((await enable(second, "--discard-pending", "--yes")).pending.count).toBe(2);
    expect(await stage.database.ask((db) => pendingOf(db, stage.team.id, second.id))).toEqual({
      count: 0,
      since: null,
    });
    const dropped = await stage.audit("webhook.pending_discarded");
    const entry = { target: `webhook:${second.id}`, details: { name: "one of many", discarded: 1 } };
    // The queued event, and the one still to be fanned out.
    expect(dropped).toMatchObject([entry, entry]);
    await postWithoutServer(stage, "after it was enabled");
    await stage.restart();
    await allDelivered(stage);
    expect(textsFor(receiver, first)).toEqual(["queued", "still to be queued", "after it was enabled"]);
    expect(textsFor(receiver, second)).toEqual(["after it was enabled"]);
    expect(new Set(rest.map((subscription) => textsFor(receiver, subscription).length))).toEqual(
      new Set([3]),
    );
  });

  test("retention keeps it, however old it is", async () => {
    await using stage = await startWebhookStage();
    await using receiver = startReceiver();
    const subscribed = await subscribeOften(stage, receiver, many);
    await stage.stop();
    await postWithoutServer(stage);
    await rowsOf(stage.dataDir, "UPDATE events SET created_at = created_at - ?", 400 * 86_400_000);
    // While the platform is off, nothing is queued, and retention still runs.
    await stage.restart({ INTEGRATIONS_ENABLED: "false" });
    expect(await stage.server.logLine((line) => line.msg === "retention.swept")).toMatchObject({ events: 0 });
    expect([
      await count(stage, "events"),
      await count(stage, "fan_outs"),
      await count(stage, "jobs"),
    ]).toEqual([1, 1, 0]);
    await stage.restart();
    await allDelivered(stage);
    expect(requestsFor(receiver, subscribed)).toEqual(once(subscribed));
  });
});

test("with creator visibility, a fan-out queues only for creators who may see the channel", async () => {
  await using stage = await startCreatorStage();
  const { webhooks } = stage;
  await using receiver = startReceiver();
  const secret = await webhooks.channel("private");
  const [inside, outside] = [await stage.creator("member"), await stage.creator("bot")];
  await webhooks.workspace.join(secret, inside);
  const ofCommands = await subscribeOften(webhooks, receiver, 150);
  const ofMember = await stage.subscribe(inside, receiver);
  const ofBot = await stage.subscribe(outside, receiver);
  for (const made of [ofMember, ofBot]) await webhooks.disable(made);
  await webhooks.post(secret, "hush");
  await until("it is queued", async () => (await count(webhooks, "fan_outs")) === 0);
  expect([await webhooks.queued(ofMember), await webhooks.queued(ofBot)]).toEqual([1, 0]);
  await until("the others have it", () => receiver.requests.length === ofCommands.length);
});

test("a fan-out queues for creators who could see the event when it happened, however late it runs", async () => {
  await using stage = await startCreatorStage();
  const { webhooks } = stage;
  await using receiver = startReceiver(hang);
  const secret = await webhooks.channel("private");
  const [inside, gone, late] = [
    await stage.creator("bot"),
    await stage.creator("member"),
    await stage.creator("member"),
  ];
  for (const member of [inside, gone]) await webhooks.workspace.join(secret, member);
  await subscribeOften(webhooks, receiver, 150);
  const made = [];
  for (const creator of [inside, gone, late]) made.push(await stage.subscribe(creator, receiver));
  for (const subscription of made) await webhooks.disable(subscription);
  await webhooks.stop();
  const later = async () => {
    const now = Date.now();
    await until("the clock has advanced", () => Date.now() > now);
  };
  await webhooks.workspace.message(secret, webhooks.team.owner, "hush");
  await later();
  await webhooks.database.write((tx) => deactivate(tx, gone, actor));
  await later();
  // Its notice is an event too, for those who are in the channel at that time.
  await webhooks.workspace.join(secret, late);
  await webhooks.restart({ WEBHOOKS_VISIBILITY: "creator" });
  await until("it is queued", async () => (await count(webhooks, "fan_outs")) === 0);
  const queued = await Promise.all(made.map((subscription) => webhooks.queued(subscription)));
  expect(queued).toEqual([2, 1, 1]);
});
