import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import type { WaitingEvent } from "../../src/deliveries/waiting.ts";
import { run, runJson } from "../support/cli.ts";
import type { Answer } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { startReceiver, statuses } from "../support/receivers/receiver.ts";
import {
  byCreators,
  type CreatorKind,
  type CreatorStage,
  startCreatorStage,
} from "../support/creator-stage.ts";
import type { WebhookStage } from "../support/webhook-stage.ts";

let stage: CreatorStage;
let webhooks: WebhookStage;
beforeAll(async () => {
  stage = await startCreatorStage();
  ({ webhooks } = stage);
});
afterAll(() => stage[Symbol.asyncDispose]());

const human = ["direct, in it", "private, in it", "public, in it", "public, not in it"];
const seen = {
  member: human,
  admin: human,
  owner: human,
  bot: ["direct, in it", "private, in it", "public, in it"],
};

describe.each(Object.entries(seen))("a subscription of a %s's", (kind, expected) => {
  test("has only events queued that they may see", async () => {
    const user = await stage.creator(kind as CreatorKind);
    await using receiver = startReceiver();
    const all = await stage.channels(user);
    const subscription = await stage.subscribe(user, receiver);
    // Jobs of a disabled subscription stay in the queue and can be counted.
    await webhooks.disable(subscription);
    for (const [name, channel] of Object.entries(all)) await webhooks.post(channel, name);
    expect(await webhooks.queued(subscription)).toBe(expected.length);
    await webhooks.enable(subscription);
    expect(await stage.heard(receiver, subscription)).toEqual(expected);
    expect(stage.withheld(subscription)).toBe(0);
  });

  test("is sent only those queued events that they may see", async () => {
    const user = await stage.creator(kind as CreatorKind);
    await using receiver = startReceiver();
    const all = await stage.channels(user);
    const subscription = await stage.subscribe(user, receiver);
    await webhooks.disable(subscription);
    // This process uses workspace visibility, as the server may have done before.
    for (const [name, channel] of Object.entries(all)) {
      await webhooks.workspace.message(channel, webhooks.team.owner, name);
    }
    expect(await webhooks.queued(subscription)).toBe(6);
    const args = ["webhooks", "waiting", subscription.id];
    const waiting = await runJson<WaitingEvent[]>(webhooks.dataDir, args, byCreators);
    const sent = waiting.filter(({ withheld }) => !withheld).map(({ text }) => String(text));
    expect([waiting.length, sent.toSorted()]).toEqual([6, expected]);
    await webhooks.enable(subscription);
    expect(await stage.heard(receiver, subscription)).toEqual(expected);
    await until("the others are logged", () => stage.withheld(subscription) === 6 - expected.length);
    const { deliveries, ...shown } = await webhooks.shown(subscription);
    expect(deliveries.map(({ succeeded }) => succeeded)).toEqual(expected.map(() => true));
    expect(shown).toMatchObject({ status: "active", consecutive_failures: 0 });
  });
});

describe("a creator removed from a private channel", () => {
  test.each(["member", "bot"] as const)(
    "gets no more events of it, a %s, and failed ones are not retried",
    async (kind) => {
      const user = await stage.creator(kind);
      const channel = await webhooks.channel("private");
      const other = await webhooks.channel();
      for (const joined of [channel, other]) await webhooks.workspace.join(joined, user);
      await using receiver = startReceiver(statuses(500));
      const subscription = await stage.subscribe(user, receiver, { events: webhookEvents });
      const { id } = await webhooks.post(channel, "secret");
      await until(
        "the failure counts",
        async () => (await webhooks.shown(subscription)).consecutive_failures > 0,
      );
      // It waits for its second attempt; later events wait behind it.
      await webhooks.disable(subscription);
      await webhooks.api.patch(`/channels/${channel.id}/messages/${id}`, { body: "edited" });
      await webhooks.api.put(`/channels/${channel.id}/messages/${id}/reactions/%F0%9F%91%8D`);
      await webhooks.api.del(`/channels/${channel.id}/messages/${id}`);
      const newcomer = await stage.creator("member");
      await webhooks.api.post(`/channels/${channel.id}/members`, { user_id: newcomer.id });
      const waiting = await webhooks.queued(subscription);
      expect(waiting).toBe(6);
      expect((await webhooks.api.del(`/channels/${channel.id}/members/${user.id}`)).status).toBe(204);
      await webhooks.post(channel, "after the removal");
      expect(await webhooks.queued(subscription)).toBe(waiting);

      receiver.answer = statuses(204);
      await webhooks.enable(subscription);
      await webhooks.post(other, "not secret");
      expect(await stage.heard(receiver, subscription)).toEqual(["not secret", "secret"]);
      expect(receiver.requests).toHaveLength(2);
      await until("unsent events are logged", () => stage.withheld(subscription) === waiting);
      expect((await webhooks.shown(subscription)).deliveries).toHaveLength(2);
    },
  );

  test("gets neither waiting events nor those that happen until they are back", async () => {
    const user = await stage.creator("member");
    const channel = await webhooks.channel("private");
    await webhooks.workspace.join(channel, user);
    const answer = Promise.withResolvers<Response>();
    await using receiver = startReceiver(() => answer.promise);
    const subscription = await stage.subscribe(user, receiver);
    await webhooks.post(channel, "under way");
    await receiver.nth(1);
    await webhooks.post(channel, "waits behind it");
    await webhooks.api.del(`/channels/${channel.id}/members/${user.id}`);
    await webhooks.post(channel, "without them");
    answer.resolve(new Response(null, { status: 204 }));
    receiver.answer = statuses(204);
    expect(await stage.heard(receiver, subscription)).toEqual(["under way"]);
    await webhooks.api.post(`/channels/${channel.id}/members`, { user_id: user.id });
    await webhooks.post(channel, "back");
    expect(await stage.heard(receiver, subscription)).toEqual(["back", "under way"]);
  });

  test("cannot replay events until they are back", async () => {
    const user = await stage.creator("member");
    const channel = await webhooks.channel("private");
    await webhooks.workspace.join(channel, user);
    await using receiver = startReceiver();
    const subscription = await stage.subscribe(user, receiver);
    await webhooks.post(channel, "secret");
    await webhooks.drained(subscription);
    const id = (await webhooks.shown(subscription)).deliveries[0]?.id ?? "";
    await webhooks.api.del(`/channels/${channel.id}/members/${user.id}`);
    const refused = await run(webhooks.dataDir, ["deliveries", "replay", id], byCreators);
    expect(refused).toMatchObject({ status: 1, stdout: "" });
    expect(refused.stderr).toContain("cannot see the event's channel");
    expect(receiver.requests).toHaveLength(1);
    await webhooks.workspace.join(channel, user);
    expect(await run(webhooks.dataDir, ["deliveries", "replay", id], byCreators)).toMatchObject({
      status: 0,
    });
  });
});

describe("the channels that a subscription lists", () => {
  const complaint = (answer: Answer, id: string) => ({
    status: answer.status,
    errors: JSON.stringify(answer.json.errors).replaceAll(id, "ID"),
  });

  test.each(["member", "admin", "owner", "bot"] as const)(
    "are rejected for a %s who may not see them, like unknown ones",
    async (kind) => {
      const user = await stage.creator(kind);
      await using receiver = startReceiver();
      const all = await stage.channels(user);
      const refused: Record<string, object> = {};
      for (const [name, { id }] of Object.entries(all)) {
        const answer = await stage.request(user, receiver, { channel_ids: [id] });
        if (answer.status !== 201) refused[name] = complaint(answer as unknown as Answer, id);
      }
      const nowhere = crypto.randomUUID();
      const unknown = await stage.request(user, receiver, { channel_ids: [nowhere] });
      const expected = complaint(unknown as unknown as Answer, nowhere);
      expect(expected.status).toBe(422);
      const hidden = Object.keys(all).filter((name) => !seen[kind].includes(name));
      expect(refused).toEqual(Object.fromEntries(hidden.map((name) => [name, expected])));
    },
  );

  test("no longer send events once the creator has left them", async () => {
    const user = await stage.creator("bot");
    const channel = await webhooks.channel();
    await webhooks.workspace.join(channel, user);
    await using receiver = startReceiver();
    const subscription = await stage.subscribe(user, receiver, { channel_ids: [channel.id] });
    await webhooks.post(channel, "before");
    await webhooks.drained(subscription);
    await webhooks.workspace.leave(channel, user);
    await webhooks.post(channel, "after");
    expect(await stage.heard(receiver, subscription)).toEqual(["before"]);
  });
});
