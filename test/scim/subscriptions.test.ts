import { afterAll, beforeAll, expect, test } from "bun:test";
import { listAuditEntries } from "../../src/audit/audit.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { type ScimStage, startScimStage } from "../support/scim-stage.ts";

let stage: ScimStage;
beforeAll(async () => {
  stage = await startScimStage({ environment: { WEBHOOKS_BLOCK_PRIVATE_URLS: "false" } });
});
afterAll(() => stage[Symbol.asyncDispose]());

const setActive = (active: boolean) => ({ op: "replace", path: "active", value: active });

/** A person of the directory with a subscription of their own, and how that is now. */
async function subscriber(userName: string) {
  const { id } = await stage.user(userName);
  const client = await stage.as(await stage.workspaceUser(id));
  const body = { name: "CI", url: "http://192.0.2.1/", events: ["message.created"] };
  const { json } = await client.post<{ data: WebhookSubscription }>("/webhooks", body);
  const owner = await stage.as(stage.owner);
  const status = async () =>
    (await owner.get<{ data: WebhookSubscription }>(`/webhooks/${json.data.id}`)).json.data.status;
  return { id, subscription: json.data, status };
}

async function disabledBy(actor: string): Promise<string[]> {
  const filter = { action: "webhook.disabled", limit: 10 };
  const entries = await stage.workspace.database.ask((db) => listAuditEntries(db, stage.teamId, filter));
  return entries.filter((entry) => entry.actor === actor).map(({ target }) => target);
}

test("deactivating a person disables their subscriptions, and reactivating does not enable them", async () => {
  const { id, subscription, status } = await subscriber("deactivated@example.com");
  expect(await status()).toBe("active");
  expect((await stage.scim.patch(`/Users/${id}`, setActive(false))).status).toBe(200);
  expect(await status()).toBe("disabled");
  expect(await disabledBy("scim")).toEqual([`webhook:${subscription.id}`]);
  expect((await stage.scim.patch(`/Users/${id}`, setActive(true))).status).toBe(200);
  expect(await status()).toBe("disabled");
});

test("deleting a person disables their subscriptions", async () => {
  const { id, subscription, status } = await subscriber("deleted@example.com");
  expect((await stage.scim.del(`/Users/${id}`)).status).toBe(204);
  expect(await status()).toBe("disabled");
  expect(await disabledBy("scim")).toContain(`webhook:${subscription.id}`);
});
