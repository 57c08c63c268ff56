import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { UserRow } from "../../src/users/store.ts";
import { run, runJson } from "../support/cli.ts";
import { startReceiver } from "../support/receivers/receiver.ts";
import { type CreatorStage, startCreatorStage } from "../support/creator-stage.ts";
import type { WebhookStage } from "../support/webhook-stage.ts";

type Named = Array<{ id: string; name: string }>;
type Answer = { id: string; disabled_webhooks?: Named; kept_webhooks?: Named };

let stage: CreatorStage;
let webhooks: WebhookStage;
beforeAll(async () => {
  stage = await startCreatorStage({ WEBHOOKS_VISIBILITY: "workspace" });
  ({ webhooks } = stage);
  writeFileSync(join(webhooks.dataDir, "parley.toml"), "webhooks_block_private_urls = false\n");
});
afterAll(() => stage[Symbol.asyncDispose]());

/** The command that ends the user, without its options. */
function ending(user: UserRow): string[] {
  return user.type === "bot" ? ["bots", "delete", user.id] : ["users", "deactivate", user.id];
}

const endings = [["member"], ["bot"]] as const;

describe.each(endings)("with its creator, a %s,", (kind) => {
  test("a subscription is disabled: nothing is sent from then on, everything waits", async () => {
    const user = await stage.creator(kind);
    await using receiver = startReceiver();
    await using other = await webhooks.listen({ events: ["message.created"] });
    const made = await stage.subscribe(user, receiver, { name: "CI" });
    const answer = await runJson<Answer>(webhooks.dataDir, [...ending(user), "--yes"]);
    expect(answer).toMatchObject({ id: user.id, disabled_webhooks: [{ id: made.id, name: "CI" }] });
    expect(answer.kept_webhooks).toBeUndefined();
    const direct = await webhooks.workspace.direct(webhooks.team.owner, await stage.creator("member"));
    await webhooks.post(direct, "private");
    expect((await other.delivered()).map(({ data }) => data.body)).toEqual(["private"]);
    expect(await webhooks.shown(made)).toMatchObject({ status: "disabled", disabled_at: expect.any(String) });
    expect([receiver.requests.length, await webhooks.queued(made)]).toEqual([0, 1]);
    const list = ["audit", "list", "--action", "webhook.disabled"];
    const entries = await runJson<AuditEntry[]>(webhooks.dataDir, list);
    expect(entries[0]).toMatchObject({
      actor: expect.stringMatching(/^cli:/),
      target: `webhook:${made.id}`,
      details: { name: "CI", reason: "creator_gone" },
    });

    const enabled = await run(webhooks.dataDir, ["webhooks", "enable", made.id]);
    expect(enabled.status).toBe(0);
    const gone = kind === "bot" ? "deleted" : "deactivated";
    expect(enabled.stdout).toContain(`It was created by ${user.name} (${gone}).`);
    expect(await stage.heard(receiver, made)).toEqual(["private"]);
    const { stdout } = await run(webhooks.dataDir, ["webhooks", "list"]);
    expect(stdout).toContain(`${user.name} (${gone})`);
  });

  test("a subscription stays enabled on request, and the output names it", async () => {
    const user = await stage.creator(kind);
    await using receiver = startReceiver();
    const made = await stage.subscribe(user, receiver, { name: "Deploys" });
    const answer = await run(webhooks.dataDir, [...ending(user), "--yes", "--keep-webhooks"]);
    expect(answer).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Left enabled: 1 subscription (Deploys), created by ${user.name}.\n`),
    });
    await webhooks.post(webhooks.team.general, "after");
    expect(await stage.heard(receiver, made)).toEqual(["after"]);
    await webhooks.disable(made);
  });

  test("subscriptions of others and deleted ones are not touched, and no line appears if there are none", async () => {
    const user = await stage.creator(kind);
    const other = await stage.creator(kind);
    const url = "http://192.0.2.1/";
    const kept = await stage.subscribe(other, { url });
    const deleted = await stage.subscribe(user, { url });
    expect((await webhooks.api.del(`/webhooks/${deleted.id}`)).status).toBe(204);
    const answer = await runJson<Answer>(webhooks.dataDir, [...ending(user), "--yes"]);
    expect([answer.disabled_webhooks, answer.kept_webhooks]).toEqual([undefined, undefined]);
    expect(await webhooks.shown(kept)).toMatchObject({ status: "active" });
    await webhooks.disable(kept);
  });
});

test("of many disabled subscriptions people see ten names and a count, programs all of them", async () => {
  const user = await stage.creator("bot");
  const client = await stage.as(user);
  for (let nth = 1; nth <= 12; nth++) {
    const input = { name: `nth ${nth}`, url: "http://192.0.2.1/", events: ["message.created"] };
    expect((await client.post("/webhooks", input)).status).toBe(201);
  }
  const { stdout } = await run(webhooks.dataDir, [...ending(user), "--yes"]);
  expect(stdout).toMatch(/^Disabled 12 subscriptions \((nth \d+, ){10}and 2 others\), created by /m);

  const person = await stage.creator("member");
  for (let nth = 1; nth <= 12; nth++) await stage.subscribe(person, { url: "http://192.0.2.1/" });
  const answer = await runJson<Answer>(webhooks.dataDir, [...ending(person), "--yes"]);
  expect(answer.disabled_webhooks).toHaveLength(12);
});

test("reactivating a person lists their disabled subscriptions and how to enable them", async () => {
  const user = await stage.creator("member");
  const made = await stage.subscribe(user, { url: "http://192.0.2.1/" }, { name: "Alerts" });
  await run(webhooks.dataDir, [...ending(user), "--yes"]);
  const { stdout } = await run(webhooks.dataDir, ["users", "reactivate", user.id]);
  expect(stdout).toContain(`Still disabled: 1 subscription (Alerts), created by ${user.name}.\n`);
  expect(stdout).toContain(`parley webhooks enable ${made.id}\n`);
  expect(await webhooks.shown(made)).toMatchObject({ status: "disabled" });
  await run(webhooks.dataDir, [...ending(user), "--yes"]);
  const answer = await runJson<Answer>(webhooks.dataDir, ["users", "reactivate", user.id]);
  expect(answer.disabled_webhooks).toEqual([{ id: made.id, name: "Alerts" }]);
});

test("with WEBHOOKS_VISIBILITY=creator, nothing is sent for a creator who is gone, and the commands say so", async () => {
  await using own = await startCreatorStage();
  const settings = { WEBHOOKS_VISIBILITY: "creator" };
  const { dataDir, team } = own.webhooks;
  const user = await own.creator("member");
  await using receiver = startReceiver();
  const made = await own.subscribe(user, receiver);
  const kept = await run(dataDir, [...ending(user), "--yes", "--keep-webhooks"], settings);
  expect(kept.stdout).toContain(`Even so, nothing is sent to them while ${user.name} is gone`);
  await own.webhooks.post(team.general, "while they are gone");
  expect([await own.webhooks.queued(made), receiver.requests.length]).toEqual([0, 0]);

  await run(dataDir, ["users", "reactivate", user.id], settings);
  await own.webhooks.post(team.general, "back");
  expect(await own.heard(receiver, made)).toEqual(["back"]);

  const disabled = await run(dataDir, [...ending(user), "--yes"], settings);
  expect(disabled.stdout).toContain("nothing more is queued (WEBHOOKS_VISIBILITY=creator)");
  const enabled = await run(dataDir, ["webhooks", "enable", made.id], settings);
  expect(enabled.stdout).toContain("so nothing is sent to it (WEBHOOKS_VISIBILITY=creator)");
  await own.webhooks.post(team.general, "gone again");
  expect(await own.webhooks.queued(made)).toBe(0);
});
