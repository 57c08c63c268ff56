import { describe, expect, test } from "bun:test";
import { startServer, type TestServer } from "../support/server.ts";
import { startWebhookStage, type WebhookStage, refusalOf } from "../support/webhook-stage.ts";

async function second(stage: WebhookStage): Promise<TestServer> {
  return await startServer({ dataDir: stage.dataDir, environment: { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" } });
}

describe("a second server on the same data folder", () => {
  test("is refused with a clear message, and the first one continues: each event is delivered once", async () => {
    await using stage = await startWebhookStage();
    await using listener = await stage.listen({ events: ["message.created"] });
    expect(await refusalOf(second(stage))).toMatch(/Another parley is serving .* already/);
    expect(await refusalOf(second(stage))).toMatch(/Another parley is serving .* already/);
    await stage.post(stage.team.general, "still here");
    expect((await listener.delivered()).map(({ data }) => data.body)).toEqual(["still here"]);
  });

  test("may start as soon as the first one has stopped or was killed", async () => {
    await using stage = await startWebhookStage();
    await stage.stop();
    {
      await using next = await second(stage);
      expect((await fetch(`${next.url}/healthz`)).status).toBe(200);
      await next.kill9();
      await using afterwards = await second(stage);
      expect((await fetch(`${afterwards.url}/healthz`)).status).toBe(200);
    }
    await stage.restart();
  });

  test("may start at the same moment: one of them serves, the others are refused", async () => {
    await using stage = await startWebhookStage();
    await stage.stop();
    const starts = await Promise.allSettled([second(stage), second(stage), second(stage)]);
    const started = starts.filter((start) => start.status === "fulfilled").map(({ value }) => value);
    const refused = starts.filter((start) => start.status === "rejected").map(({ reason }) => String(reason));
    for (const server of started) await server[Symbol.asyncDispose]();
    expect(started).toHaveLength(1);
    for (const reason of refused) expect(reason).toMatch(/Another parley is serving/);
    await stage.restart();
  });
});
