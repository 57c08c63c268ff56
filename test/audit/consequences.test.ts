import { afterAll, beforeAll, expect, test } from "bun:test";
import { type AuditEntry, listAuditEntries } from "../../src/audit/audit.ts";
import { deleteBot } from "../../src/accounts/bots.ts";
import { createIncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { revokeToken } from "../../src/tokens/tokens.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";

const folder = temporaryFolder();
let workspace: Workspace;
let team: Awaited<ReturnType<Workspace["team"]>>;
beforeAll(async () => {
  workspace = await openWorkspace(folder.path);
  team = await workspace.team("Acme");
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function entries(action: string): Promise<Array<Pick<AuditEntry, "actor" | "target" | "details">>> {
  const found = await workspace.database.ask((db) => listAuditEntries(db, team.id, { action, limit: 100 }));
  return found.map(({ actor, target, details }) => ({ actor, target, details })).reverse();
}

test("a team begins with the creation of its #general in the audit log", async () => {
  expect(await entries("channel.created")).toEqual([
    { actor, target: `channel:${team.general.id}`, details: { name: "general" } },
  ]);
});

test("deleting a bot revokes its tokens and webhooks, and the audit log names each", async () => {
  const bot = await workspace.bot(team.id, "Build Bot", [team.general]);
  const gone = await workspace.token(bot);
  await workspace.database.write((tx) => revokeToken(tx, team.id, gone.id, "cli:before"));
  const tokens = [await workspace.token(bot), await workspace.token(bot)];
  const webhook = await workspace.database.write((tx) =>
    createIncomingWebhook(
      tx,
      new Vault(undefined),
      { bot, channel: team.general },
      { name: "alerts", signed: false },
      actor,
    ),
  );

  await workspace.database.write((tx) => deleteBot(tx, bot, "cli:ada"));
  const byAda = (await entries("token.revoked")).filter((entry) => entry.actor === "cli:ada");
  expect(byAda.map(({ target }) => target).sort()).toEqual(tokens.map(({ id }) => `token:${id}`).sort());
  expect(await entries("incoming_webhook.revoked")).toEqual([
    { actor: "cli:ada", target: `incoming_webhook:${webhook.id}`, details: { name: "alerts" } },
  ]);
  expect(await entries("bot.deleted")).toEqual([
    { actor: "cli:ada", target: `bot:${bot.id}`, details: { name: "Build Bot" } },
  ]);
});

test("deactivating a person revokes their tokens, and the audit log names each", async () => {
  const person = await workspace.person(team.id, "Grace");
  const token = await workspace.token(person);
  await workspace.database.write((tx) => deactivate(tx, person, "scim"));
  expect(await entries("token.revoked")).toContainEqual({
    actor: "scim",
    target: `token:${token.id}`,
    details: { name: "test" },
  });
});
