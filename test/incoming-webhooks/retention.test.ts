import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { incomingWebhooks, refusedPosts } from "../../src/database/schema.ts";
import type { RefusedPost } from "../../src/incoming-webhooks/refused-posts.ts";
import { runJson } from "../support/cli.ts";
import { ingestDigest, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

/** The same id, made so many days earlier. */
function aged(id: string, days: number): string {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - days * 86_400_000;
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}${id.slice(13)}`;
}

async function restartAndSweep(stage: WebhookStage, days: string): Promise<void> {
  await stage.restart({ WEBHOOKS_DELIVERY_RETENTION_DAYS: days });
  await swept(stage);
}

const swept = (stage: WebhookStage) => stage.server.logLine((line) => line.msg === "retention.swept");

describe("refused posts", () => {
  test.each([
    ["30", 1],
    ["0", 2],
  ])("are kept for as long as attempts are: %p days", async (days, left) => {
    await using stage = await startWebhookStage();
    // Or that sweep might find what is aged below.
    await swept(stage);
    const hook = await stage.incoming(await stage.channel());
    const inspect = () => runJson<RefusedPost[]>(stage.dataDir, ["incoming-webhooks", "inspect", hook.id]);
    for (const n of [1, 2]) await stage.send(hook.token, { n });
    const [newer, older] = await inspect();
    await stage.database.write(async (tx) => {
      for (const [post, age] of [
        [newer, 29],
        [older, 31],
      ] as const)
        await tx
          .update(refusedPosts)
          .set({ id: aged(post?.id ?? "", age) })
          .where(eq(refusedPosts.id, post?.id ?? ""));
    });
    await restartAndSweep(stage, days);
    expect((await inspect()).length).toBe(left);
  });
});

test("a secret is forgotten once its overlap has ended, and not before", async () => {
  await using stage = await startWebhookStage();
  const channel = await stage.channel();
  const hooks = [
    await stage.incoming(channel, { signed: true }),
    await stage.incoming(channel, { signed: true }),
  ];
  const [ended, lasting] = hooks;
  for (const { id } of hooks)
    await runJson(stage.dataDir, ["incoming-webhooks", "rotate-secret", id, "--yes", "--overlap", "24h"]);
  await stage.database.write(async (tx) => {
    await tx
      .update(incomingWebhooks)
      .set({ previousSecretUntil: Date.now() - 1 })
      .where(eq(incomingWebhooks.id, ended?.id ?? ""));
  });
  await restartAndSweep(stage, "0");
  const rows = await stage.database.ask((db) => db.select().from(incomingWebhooks));
  const left = rows.filter(({ previousSecret }) => previousSecret !== null).map(({ id }) => id);
  expect(left).toEqual([lasting?.id ?? ""]);
  const body = '{"text":"hello"}';
  const signed = { "x-signature-256": ingestDigest(body, lasting?.secret ?? "") };
  expect((await stage.send(lasting?.token ?? "", body, signed)).status).toBe(202);
});
