import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { apiClient } from "../support/client.ts";
import { readServedData } from "../support/data-folder.ts";
import { type Shown, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const url = "https://93.184.215.14/hook";

let stage: WebhookStage;
beforeAll(async () => {
  // The default: only public addresses are accepted.
  stage = await startWebhookStage({ WEBHOOKS_BLOCK_PRIVATE_URLS: "" });
});
afterAll(() => stage[Symbol.asyncDispose]());

async function listed(): Promise<WebhookSubscription[]> {
  return (await stage.api.get<{ data: WebhookSubscription[] }>("/webhooks")).json.data;
}

describe("a subscription", () => {
  test("is created with its fields, and its secret next to them", async () => {
    const channel = await stage.channel();
    const before = Date.now();
    const body = {
      name: "CI",
      url,
      events: ["message.created", "reaction.added"],
      channel_ids: [channel.id],
    };
    const { status, json } = await stage.api.post<{ data: WebhookSubscription; secret: string }>(
      "/webhooks",
      body,
    );
    expect(status).toBe(201);
    expect(Object.keys(json).sort()).toEqual(["data", "secret"]);
    expect(json.secret).toMatch(/^whsec_[0-9A-Za-z]{48}$/);
    expect(json.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: "CI",
      url,
      events: ["message.created", "reaction.added"],
      channel_ids: [channel.id],
      header_names: [],
      status: "active",
      consecutive_failures: 0,
      last_success_at: null,
      disabled_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/),
    });
    expect(Date.parse(json.data.created_at ?? "")).toBeWithin(before, Date.now() + 1);
  });

  test("is workspace-wide when channel_ids is null or omitted", async () => {
    expect((await stage.subscribe({ url })).channel_ids).toBeNull();
    expect((await stage.subscribe({ url }, { channel_ids: null })).channel_ids).toBeNull();
  });

  test("may exist twice for one URL, each with its own secret", async () => {
    const [one, other] = [await stage.subscribe({ url }), await stage.subscribe({ url })];
    expect(one.id).not.toBe(other.id);
    expect(one.secret).not.toBe(other.secret);
  });

  test("never shows its secret again, and stores it nowhere in plain text", async () => {
    const { id, secret } = await stage.subscribe({ url });
    const shown = await stage.api.get(`/webhooks/${id}`);
    const list = await stage.api.get("/webhooks");
    for (const { text } of [shown, list]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain("whsec_");
      expect(text).not.toContain('"secret"');
    }
    for (const [file, bytes] of await readServedData(stage.dataDir)) {
      expect({ file, holds: bytes.includes("whsec_") || bytes.includes(secret.slice(6)) }).toEqual({
        file,
        holds: false,
      });
    }
  });

  test("is returned with its attempts, of which there are none yet", async () => {
    const { secret: _, ...fields } = await stage.subscribe({ url });
    expect(await stage.shown(fields)).toEqual({ ...fields, deliveries: [] });
    const upper = await stage.api.get<{ data: Shown }>(`/webhooks/${fields.id.toUpperCase()}`);
    expect(upper.json.data.id).toBe(fields.id);
  });

  test("is deleted once", async () => {
    const { id } = await stage.subscribe({ url });
    const deleted = await stage.api.del(`/webhooks/${id}`);
    expect(deleted).toMatchObject({ status: 204, text: "" });
    expect((await stage.api.del(`/webhooks/${id}`)).status).toBe(404);
    expect((await stage.api.get(`/webhooks/${id}`)).status).toBe(404);
    expect((await listed()).map((subscription) => subscription.id)).not.toContain(id);
  });

  test("has its creation and deletion in the audit log, with the actor", async () => {
    const { id } = await stage.subscribe({ url });
    await stage.api.del(`/webhooks/${id}`);
    const who = { actor: `human:${stage.team.owner.id}`, target: `webhook:${id}` };
    expect((await stage.audit("webhook.created"))[0]).toMatchObject(who);
    expect((await stage.audit("webhook.deleted"))[0]).toMatchObject(who);
  });
});

test("the list is the workspace's, newest first, each entry as when read alone except for its attempts", async () => {
  const made = [];
  for (const name of ["one", "two", "three"]) made.push(await stage.subscribe({ url }, { name }));
  const list = await listed();
  expect(list.slice(0, 3).map(({ name }) => name)).toEqual(["three", "two", "one"]);
  const { deliveries: _, ...shown } = await stage.shown({ id: made[2]?.id ?? "" });
  expect(list[0]).toEqual(shown);
  const other = await stage.workspace.team("Umbrella");
  const { token } = await stage.workspace.token(other.owner);
  expect((await apiClient(stage.server.url, token).get<{ data: unknown[] }>("/webhooks")).json.data).toEqual(
    [],
  );
});

test("a subscription of another workspace is 404, and so is an invalid id", async () => {
  const { id } = await stage.subscribe({ url });
  const other = await stage.workspace.team("Initech");
  const { token } = await stage.workspace.token(other.owner);
  const outsider = apiClient(stage.server.url, token);
  const missing = await outsider.get(`/webhooks/${crypto.randomUUID()}`);
  for (const path of [id, "nonsense", "1 OR 1", "%00", `${id}%20`, "null"]) {
    const shown = await outsider.get(`/webhooks/${path}`);
    expect(shown).toMatchObject({ status: 404, json: missing.json });
    expect((await outsider.del(`/webhooks/${path}`)).status).toBe(404);
  }
  expect(await stage.shown({ id })).toMatchObject({ id, status: "active" });
});

describe("the scopes", () => {
  test("webhooks:read lists and reads, webhooks:write creates and deletes, and neither allows the other", async () => {
    const { id } = await stage.subscribe({ url });
    const bot = await stage.bot();
    const client = async (...scopes: Parameters<WebhookStage["workspace"]["token"]>[1][]) =>
      apiClient(stage.server.url, (await stage.workspace.token(bot, ...scopes)).token);
    const [reader, writer, neither] = [
      await client("webhooks:read"),
      await client("webhooks:write"),
      await client("messages:read", "channels:write"),
    ];
    expect((await reader.get("/webhooks")).status).toBe(200);
    expect((await reader.get(`/webhooks/${id}`)).status).toBe(200);
    for (const wrong of [reader, neither]) {
      expect((await wrong.post("/webhooks", "{")).status).toBe(403);
      expect((await wrong.del(`/webhooks/${id}`)).status).toBe(403);
    }
    for (const wrong of [writer, neither]) {
      expect((await wrong.get("/webhooks")).status).toBe(403);
      expect((await wrong.get(`/webhooks/${id}`)).status).toBe(403);
      expect((await wrong.get("/webhooks/nonsense")).status).toBe(403);
    }
    expect((await writer.post("/webhooks", { name: "bot's", url, events: ["message.created"] })).status).toBe(
      201,
    );
    expect((await writer.del(`/webhooks/${id}`)).status).toBe(204);
  });
});
