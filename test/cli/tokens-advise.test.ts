import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Advice } from "../../src/tokens/advice.ts";
import { apiClient } from "../support/client.ts";
import { run, runJson } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { rowsOf } from "../support/data.ts";
import { startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

const dayMs = 86_400_000;

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(async () => await stage[Symbol.asyncDispose]());

async function advice(): Promise<Map<string, Advice>> {
  const all = await runJson<Advice[]>(stage.dataDir, ["tokens", "advise"]);
  return new Map(all.map((each) => [each.token.id, each]));
}

/** Sets when the token was made and last used, so many days ago. */
async function age(id: string, created: number, used: number | null): Promise<void> {
  const at = (days: number | null) => (days === null ? null : Date.now() - days * dayMs);
  const change = "UPDATE tokens SET created_at = ?, last_used_at = ? WHERE id = ?";
  await rowsOf(stage.dataDir, change, at(created), at(used), id);
}

test("tokens that nobody uses, that expired and that never used a scope are named", async () => {
  const { workspace } = stage;
  const bot = await stage.bot(stage.team.general);
  const make = () => workspace.token(bot, "messages:read", "channels:write", "webhooks:write");
  const [forgotten, neverUsed, fresh, expired, busy] = [
    await make(),
    await make(),
    await make(),
    await make(),
    await make(),
  ];
  await age(forgotten.id, 200, 91);
  await age(neverUsed.id, 91, null);
  await age(expired.id, 5, 1);
  await rowsOf(
    stage.dataDir,
    "UPDATE tokens SET expires_at = ? WHERE id = ?",
    Date.now() - dayMs,
    expired.id,
  );

  const client = apiClient(stage.server.url, busy.token);
  const made = await client.post("/channels", { name: "made by a bot", visibility: "public" });
  expect(made.status).toBe(201);
  await until("the use of the token is recorded", async () => (await advice()).has(busy.id));

  const found = await advice();
  expect(found.get(forgotten.id)).toMatchObject({ kind: "unused" });
  expect(found.get(neverUsed.id)).toMatchObject({ kind: "unused" });
  expect(found.get(expired.id)).toMatchObject({ kind: "expired" });
  expect(found.has(fresh.id)).toBe(false);
  expect(found.get(busy.id)).toMatchObject({ kind: "scopes", scopes: ["webhooks:write"] });
  const { stdout } = await run(stage.dataDir, ["tokens", "advise"]);
  expect(stdout).toContain("no use of webhooks:write");
  expect(stdout).toContain("never used");

  // What the list shows of an id on a terminal is enough to revoke it.
  await runJson(stage.dataDir, ["tokens", "revoke", forgotten.id.slice(-8), "--yes"]);
  expect((await advice()).has(forgotten.id)).toBe(false);
});
