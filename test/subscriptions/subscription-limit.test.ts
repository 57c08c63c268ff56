import { describe, expect, test } from "bun:test";
import { deleteSubscription } from "../../src/subscriptions/subscriptions.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { run, runRefused } from "../support/cli.ts";
import { apiClient } from "../support/client.ts";
import { actor } from "../support/workspace.ts";
import { subscribeOften } from "../outbox/many-subscriptions.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const url = "http://192.0.2.1/hook";
const input = { name: "one more", url, events: ["message.created"] };
const limitOf = (count: string) =>
  `This workspace has reached its limit of ${count} subscriptions. Delete one, or raise ` +
  "WEBHOOKS_MAX_SUBSCRIPTIONS on the server.";

async function listed({ api }: WebhookStage): Promise<WebhookSubscription[]> {
  return (await api.get<{ data: WebhookSubscription[] }>("/webhooks")).json.data;
}

describe("one subscription more than the limit", () => {
  test("is rejected with the limit and the remedy, until one is deleted; a disabled one counts", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_MAX_SUBSCRIPTIONS: "3" });
    const [first] = await subscribeOften(stage, { url }, 2);
    await stage.disable({ id: first?.id ?? "" });
    await stage.subscribe({ url });
    const refused = await stage.api.post("/webhooks", input);
    expect(refused.status).toBe(422);
    expect(refused.json).toEqual({ message: limitOf("3"), errors: { url: [limitOf("3")] } });
    expect(await listed(stage)).toHaveLength(3);

    expect((await stage.api.del(`/webhooks/${first?.id}`)).status).toBe(204);
    await stage.subscribe({ url });
    expect((await stage.api.post("/webhooks", input)).status).toBe(422);
  });

  test("is rejected for all but one of ten concurrent requests", async () => {
    await using stage = await startWebhookStage({ WEBHOOKS_MAX_SUBSCRIPTIONS: "5" });
    await subscribeOften(stage, { url }, 4);
    const answers = await Promise.all(Array.from({ length: 10 }, () => stage.api.post("/webhooks", input)));
    const statuses = answers.map(({ status }) => status);
    expect([201, 422].map((status) => statuses.filter((other) => other === status).length)).toEqual([1, 9]);
    expect(await listed(stage)).toHaveLength(5);
  });

  test("is rejected on the command line too, by the same setting", async () => {
    await using stage = await startWebhookStage();
    await subscribeOften(stage, { url }, 2);
    const args = ["webhooks", "create", "--name", "CI", "--url", url, "--event", "message.created"];
    const environment = { WEBHOOKS_BLOCK_PRIVATE_URLS: "false", WEBHOOKS_MAX_SUBSCRIPTIONS: "2" };
    const { status, stderr } = await run(stage.dataDir, args, environment);
    expect(status).toBe(1);
    expect(stderr).toContain(limitOf("2"));
    expect(await listed(stage)).toHaveLength(2);
    await Bun.write(
      `${stage.dataDir}/parley.toml`,
      "webhooks_max_subscriptions = 2\nwebhooks_block_private_urls = false\n",
    );
    expect((await runRefused(stage.dataDir, args)).errors).toEqual({ url: [limitOf("2")] });
  });

  test("is rejected for a workspace that already has more, which it keeps, and for no other", async () => {
    await using stage = await startWebhookStage();
    const made = await subscribeOften(stage, { url }, 1_003);
    expect((await stage.api.post("/webhooks", input)).json.errors).toEqual({ url: [limitOf("1,000")] });
    expect(await listed(stage)).toHaveLength(1_003);
    for (const { id } of made.slice(0, 3))
      await stage.database.write((tx) => deleteSubscription(tx, stage.team.id, id, actor));
    expect((await stage.api.post("/webhooks", input)).status).toBe(422);
    expect((await stage.api.del(`/webhooks/${made[3]?.id}`)).status).toBe(204);
    await stage.subscribe({ url });

    const { owner } = await stage.workspace.team("Umbrella");
    const other = apiClient(stage.server.url, (await stage.workspace.token(owner)).token);
    expect((await other.post("/webhooks", input)).status).toBe(201);
  });
});
