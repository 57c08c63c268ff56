import { expect, test } from "bun:test";
import { listAuditEntries } from "../src/audit/audit.ts";
import { createIncomingWebhook, listIncomingWebhooks } from "../src/incoming-webhooks/incoming-webhooks.ts";
import { makeQuickstart } from "../src/quickstart.ts";
import { Vault } from "../src/secrets/vault.ts";
import { authenticate, createToken, listTokens } from "../src/tokens/tokens.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { actor, openWorkspace } from "./support/workspace.ts";

test("running quickstart again revokes the earlier run's credentials and no others of the bot", async () => {
  using folder = temporaryFolder();
  await using workspace = openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const other = await workspace.channel(team.owner, "Deploys");
  const vault = new Vault(undefined);
  const quickstart = () => database.write((tx) => makeQuickstart(tx, vault, team.id, actor));

  const first = await quickstart();
  const own = await database.write((tx) =>
    createToken(tx, first.bot, { name: "mine", scopes: ["channels:read"], expiresAt: null }, actor),
  );
  await workspace.join(other, first.bot);
  const place = { bot: first.bot, channel: other };
  const webhook = await database.write((tx) =>
    createIncomingWebhook(tx, vault, place, { name: "mine", signed: false }, actor),
  );

  const second = await quickstart();
  expect([second.bot.id, second.channel.id]).toEqual([first.bot.id, team.general.id]);
  expect(authenticate(database, first.token)).toBeUndefined();
  expect(authenticate(database, second.token)).toBeDefined();
  const tokens = await listTokens(database.read, team.id);
  expect(tokens.map(({ name }) => name)).toEqual(["quickstart", "mine"]);
  expect(tokens[1]?.id).toBe(own.id);
  const webhooks = await listIncomingWebhooks(database.read, team.id);
  expect(webhooks.map(({ name }) => name)).toEqual(["quickstart", "mine"]);
  expect(webhooks[1]?.id).toBe(webhook.id);

  for (const action of ["token.revoked", "incoming_webhook.revoked"]) {
    expect(await listAuditEntries(database.read, team.id, { action, limit: 9 })).toMatchObject([
      { actor, details: { name: "quickstart" } },
    ]);
  }
});

test("quickstart adds its bot to #general again", async () => {
  using folder = temporaryFolder();
  await using workspace = openWorkspace(folder.path);
  const team = await workspace.team("Acme");
  const quickstart = () =>
    workspace.database.write((tx) => makeQuickstart(tx, new Vault(undefined), team.id, actor));
  const { bot } = await quickstart();
  await workspace.leave(team.general, bot);
  expect((await quickstart()).bot.id).toBe(bot.id);
});
