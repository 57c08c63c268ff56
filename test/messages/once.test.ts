import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../src/channels/store.ts";
import { idempotencyKeys } from "../../src/database/schema.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const dayMs = 24 * 60 * 60 * 1000;

let stage: WebhookStage;
let channel: ChannelRow;
let hook: Incoming;
let key: string;
beforeAll(async () => {
  stage = await startWebhookStage({ INTEGRATIONS_API_RATE_LIMIT: "1000000" });
});
beforeEach(async () => {
  channel = await stage.channel();
  hook = await stage.incoming(channel);
  key = crypto.randomUUID();
});
afterAll(() => stage[Symbol.asyncDispose]());

const posted = async () => (await stage.messages(channel)).map(({ body }) => body);

/** Posts as the owner, with the key. */
const post = (body: object, named = key, to = channel) =>
  stage.api.post<{ data: Message; message: string; errors: object }>(`/channels/${to.id}/messages`, body, {
    "idempotency-key": named,
  });

/** Makes all keys older by so many milliseconds. */
async function makeOlder(byMs: number): Promise<void> {
  await stage.database.write(async (tx) => {
    await tx.update(idempotencyKeys).set({ createdAt: Date.now() - byMs });
  });
}

async function sendTo(suffix: string, body: string, headers: Record<string, string>) {
  const address = `${stage.server.url}/webhooks/incoming/${hook.token}${suffix}`;
  const response = await fetch(address, { method: "POST", body, headers });
  return { status: response.status, body: await response.text() };
}

describe("a request with an Idempotency-Key that is repeated", () => {
  test("makes one message and one event, and is answered as the first", async () => {
    await using receiver = startReceiver();
    const subscription = await stage.subscribe(receiver, { channel_ids: [channel.id] });
    const first = await post({ body: "once" });
    const again = await post({ body: "once" });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.json).toEqual(first.json);
    expect(await posted()).toEqual(["once"]);
    await stage.drained(subscription);
    expect(receiver.requests.length).toBe(1);
  });

  test("makes one message of a hundred at once", async () => {
    const responses = await Promise.all(Array.from({ length: 100 }, () => post({ body: "once" })));
    expect(new Set(responses.map(({ status, json }) => `${status} ${json.data.id}`)).size).toBe(1);
    const sent = await Promise.all(
      Array.from({ length: 100 }, () => sendTo("", '{"text":"sent"}', { "idempotency-key": key })),
    );
    expect(new Set(sent.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["202 "]));
    expect(await posted()).toEqual(["sent", "once"]);
  });

  test("is known after a restart", async () => {
    const first = await post({ body: "once" });
    await sendTo("/slack", '{"text":"sent"}', { "idempotency-key": key });
    await stage.restart();
    expect((await post({ body: "once" })).json).toEqual(first.json);
    expect(await sendTo("/slack", '{"text":"sent"}', { "idempotency-key": key })).toEqual({
      status: 200,
      body: "ok",
    });
    expect(await posted()).toEqual(["sent", "once"]);
  });

  test("is another post a day later", async () => {
    await post({ body: "once" });
    await makeOlder(dayMs);
    expect((await post({ body: "twice" })).status).toBe(201);
    expect(await posted()).toEqual(["twice", "once"]);
    expect((await post({ body: "twice" })).status).toBe(201);
    expect(await posted()).toEqual(["twice", "once"]);
  });
});

test("keys are deleted once they are a day old", async () => {
  await post({ body: "once" });
  await makeOlder(dayMs);
  await post({ body: "later" }, crypto.randomUUID());
  await stage.restart();
  const kept = () => stage.database.ask((db) => db.select().from(idempotencyKeys));
  await until("one key is left", async () => (await kept()).length === 1);
});

describe("a key", () => {
  test.each([
    ["with another body", "twice", () => channel],
    ["in another channel", "once", () => stage.channel()],
  ])("that is used again %s is refused, so that nothing is lost unseen", async (_, body, where) => {
    await post({ body: "once" });
    const { status, json } = await post({ body }, key, await where());
    expect(status).toBe(422);
    expect(json.errors).toEqual({ "Idempotency-Key": [json.message] });
    expect(json.message).toContain("use a new key for each message");
    expect(await posted()).toEqual(["once"]);
  });

  test("is of one token and of one webhook", async () => {
    await post({ body: "mine" });
    const bot = await stage.bot(channel);
    const theirs = apiClient(stage.server.url, (await stage.workspace.token(bot)).token);
    await theirs.post(`/channels/${channel.id}/messages`, { body: "mine" }, { "idempotency-key": key });
    await sendTo("", '{"text":"mine"}', { "idempotency-key": key });
    expect(await posted()).toEqual(["mine", "mine", "mine"]);
  });

  test("of a post that was refused can be used for the repaired one", async () => {
    expect((await post({ body: "" })).status).toBe(422);
    expect((await post({ body: "repaired" })).status).toBe(201);
    expect(await posted()).toEqual(["repaired"]);
  });

  test.each(["", "x".repeat(256), "Schlüssel"])(
    "has 1 to 255 printable ASCII characters: %p",
    async (wrong) => {
      const { status, json } = await post({ body: "once" }, wrong);
      expect({ status, errors: Object.keys(json.errors) }).toEqual({
        status: 422,
        errors: ["Idempotency-Key"],
      });
      expect(await posted()).toEqual([]);
    },
  );
});
