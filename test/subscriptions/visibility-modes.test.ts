import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { rowsOf } from "../support/data.ts";
import { run } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { startReceiver, statuses } from "../support/receivers/receiver.ts";
import { byCreators, type CreatorStage, startCreatorStage } from "../support/creator-stage.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

let stage: CreatorStage;
let webhooks: WebhookStage;
beforeAll(async () => {
  stage = await startCreatorStage();
  ({ webhooks } = stage);
});
afterAll(() => stage[Symbol.asyncDispose]());

describe("a subscription that no user created", () => {
  test("from the command line sees everything", async () => {
    await using receiver = startReceiver();
    const user = await stage.creator("member");
    const all = await stage.channels(user);
    const args = ["webhooks", "create", "--name", "CLI", "--url", receiver.url, "--event", "message.created"];
    const channel = all["private, not in it"]?.id ?? "";
    for (const more of [[], ["--channel", channel]]) {
      const { status, stdout } = await run(webhooks.dataDir, [...args, ...more, "--json"], byCreators);
      expect(status, stdout).toBe(0);
      const { data } = JSON.parse(stdout) as { data: { id: string } };
      for (const [name, at] of Object.entries(all)) await webhooks.post(at, name);
      await webhooks.drained(data);
      await webhooks.disable(data);
    }
    expect(receiver.requests).toHaveLength(7);
  });

  test("and whose creator is unknown sees what is open to all", async () => {
    await using receiver = startReceiver();
    const user = await stage.creator("member");
    const all = await stage.channels(user);
    const subscription = await stage.subscribe(user, receiver);
    await rowsOf(
      webhooks.dataDir,
      "UPDATE subscriptions SET created_by = NULL WHERE id = ?",
      subscription.id,
    );
    for (const [name, channel] of Object.entries(all)) await webhooks.post(channel, name);
    expect(await stage.heard(receiver, subscription)).toEqual(["public, in it", "public, not in it"]);
  });
});

test("a ping is sent whatever the creator may see", async () => {
  await using receiver = startReceiver();
  const user = await stage.creator("bot");
  const { id } = await stage.subscribe(user, receiver);
  expect(await run(webhooks.dataDir, ["webhooks", "ping", id], byCreators)).toMatchObject({ status: 0 });
  expect(receiver.requests).toHaveLength(1);
});

test("a command's events go to the same subscriptions as the server's", async () => {
  await using receiver = startReceiver();
  const user = await stage.creator("bot");
  const subscription = await stage.subscribe(user, receiver);
  await webhooks.disable(subscription);
  const channel = await webhooks.channel("private");
  const add = ["channels", "add-member", channel.id, (await stage.creator("member")).id];
  await run(webhooks.dataDir, add, byCreators);
  expect(await webhooks.queued(subscription)).toBe(0);
});

test("by default all events are sent, and a server with creator visibility withholds those that waited", async () => {
  await using own = await startWebhookStage({ WEBHOOKS_BACKOFF_BASE: "600" });
  await using receiver = startReceiver();
  const bot = await own.workspace.bot(own.team.id, "Build Bot");
  const { token } = await own.workspace.token(bot);
  const secret = await own.channel("private");
  const body = { name: "bot", url: receiver.url, events: ["message.created"], channel_ids: [secret.id] };
  const client = apiClient(own.server.url, token);
  const { json } = await client.post<{ data: WebhookSubscription }>("/webhooks", body);
  await own.post(secret, "seen by default");
  await own.drained(json.data);
  expect(receiver.requests).toHaveLength(1);

  receiver.answer = statuses(500);
  await own.post(secret, "waits");
  await receiver.nth(2);
  await own.restart({ WEBHOOKS_VISIBILITY: "creator" });
  receiver.answer = statuses(204);
  await own.disable(json.data);
  await own.enable(json.data);
  await own.drained(json.data);
  expect(receiver.requests).toHaveLength(2);

  await own.restart();
  await own.post(secret, "seen again");
  await receiver.nth(3);
});
