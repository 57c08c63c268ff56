import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { run, runJson, runRefused } from "../support/cli.ts";
import { countOf } from "../support/data.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";
import { bodyOf, readAll, readPage } from "./feed-reader.ts";

let stage: WebhookStage;

beforeAll(async () => {
  stage = await startWebhookStage();
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

const messages = { name: "archive", events: ["message.created"] };

async function createPulled(input: object = {}): Promise<WebhookSubscription> {
  const answer = await stage.api.post<{ data: WebhookSubscription }>("/webhooks", {
    ...messages,
    pull: true,
    ...input,
  });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.data;
}

describe("a subscription that is only read", () => {
  test("has no URL, is never sent anything, and its events are there to read", async () => {
    const channel = await stage.channel();
    const subscription = await createPulled({ channel_ids: [channel.id] });
    expect(subscription.url).toBeNull();
    const waiting = readPage(stage.api, subscription, { wait: 50 });
    await stage.post(channel, "one");
    expect((await waiting).data.map(bodyOf)).toEqual(["one"]);
    await stage.post(channel, "two");
    expect((await readAll(stage.api, subscription)).map(bodyOf)).toEqual(["one", "two"]);
    expect(await countOf(stage.dataDir, "jobs")).toBe(0);
    expect(await stage.shown(subscription)).toMatchObject({ url: null, status: "active", deliveries: [] });
  });

  test("keeps its events for as long as attempts are kept, though it has none", async () => {
    const channel = await stage.channel();
    const subscription = await createPulled({ channel_ids: [channel.id] });
    await stage.post(channel, "kept");
    await stage.restart();
    await stage.server.logLine(({ msg }) => msg === "retention.swept");
    expect((await readAll(stage.api, subscription)).map(bodyOf)).toEqual(["kept"]);
  });

  test("has company: of one event that others are sent, and of one that very many are", async () => {
    const channel = await stage.channel();
    const subscription = await createPulled({ channel_ids: [channel.id] });
    await using listener = await stage.listen({ events: ["message.created"], channel_ids: [channel.id] });
    await stage.post(channel, "for both");
    for (let nth = 0; nth < 101; nth++)
      await stage.subscribe(listener.receiver, { events: ["message.created"], channel_ids: [channel.id] });
    const waiting = readPage(stage.api, subscription, {
      after: (await readPage(stage.api, subscription)).meta.next,
      wait: 50,
    });
    await stage.post(channel, "for many");
    expect((await waiting).data.map(bodyOf)).toEqual(["for many"]);
    await listener.delivered();
    expect(await stage.queued(subscription)).toBe(0);
    expect(await stage.shown(subscription)).toMatchObject({ deliveries: [] });
  });

  test("is no hole in the explanation and in the account of an event", async () => {
    const channel = await stage.channel();
    const subscription = await createPulled({ channel_ids: [channel.id] });
    await stage.post(channel, "explained");
    const [read] = await readAll(stage.api, subscription);
    const { stdout } = await run(stage.dataDir, ["deliveries", "explain", read?.event.id ?? ""]);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("its events are read, and nothing is sent");
    expect(await runJson(stage.dataDir, ["deliveries", "account"])).toMatchObject({ missing: 0 });
  });

  test.each([
    ["neither a URL nor pull", {}, "url", "is required"],
    ["a URL of null without pull", { url: null }, "url", "must be a string"],
    ["pull: false without a URL", { pull: false }, "url", "is required"],
    ["both", { url: "https://ci.example.com/", pull: true }, "url", "must be null with pull"],
    ["a pull that is no boolean", { pull: "yes" }, "pull", "must be true or false"],
  ])("is not created with %s", async (_, input, field, problem) => {
    const answer = await stage.api.post("/webhooks", { ...messages, ...input });
    expect(answer.status).toBe(422);
    expect(answer.json.errors?.[field]?.[0]).toContain(problem);
  });

  test("is created, listed and shown on the command line, and cannot be pinged", async () => {
    const create = ["webhooks", "create", "--name", "by hand", "--pull", "--event", "message.created"];
    const created = await runJson<WebhookSubscription>(stage.dataDir, create);
    expect(created).toMatchObject({ name: "by hand", url: null });
    for (const command of [["list"], ["show", "by hand"]]) {
      const { stdout } = await run(stage.dataDir, ["webhooks", ...command]);
      expect(stdout).toContain("only read");
    }
    const pinged = await runRefused(stage.dataDir, ["webhooks", "ping", "by hand"]);
    expect(pinged).toMatchObject({ status: 1, message: expect.stringContaining("has no URL") as string });
    const both = await run(stage.dataDir, [...create, "--url", "https://ci.example.com/"]);
    expect(both.status).toBe(2);
  });
});
