import { expect, test } from "bun:test";
import { listAuditEntries } from "../src/audit/audit.ts";
import { listIncomingWebhooks } from "../src/incoming-webhooks/incoming-webhooks.ts";
import { makeQuickstart } from "../src/quickstart.ts";
import { Vault } from "../src/secrets/vault.ts";
import { authenticate, createToken, listTokens, revokeToken } from "../src/tokens/tokens.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { actor, openWorkspace } from "./support/workspace.ts";

test("running quickstart again keeps what it made before and adds a token beside it", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const vault = new Vault(undefined);
  const quickstart = () => database.write((tx) => makeQuickstart(tx, vault, team.id, actor));

  const first = await quickstart();
  expect(first.kept).toEqual({ tokens: [], webhook: null });
  expect(first.webhookToken).not.toBeNull();

  const second = await quickstart();
  expect([second.bot.id, second.channel.id]).toEqual([first.bot.id, team.general.id]);
  for (const { token } of [first, second]) expect(authenticate(database, token ?? "")).toBeDefined();
  expect(second.kept.tokens).toHaveLength(1);
  // The bot has one for the channel already.
  const [webhook, ...others] = await database.ask((db) => listIncomingWebhooks(db, team.id));
  expect(others).toEqual([]);
  expect([second.webhookToken, second.kept.webhook]).toEqual([null, webhook ?? null]);
  for (const action of ["token.revoked", "incoming_webhook.revoked"]) {
    expect(await database.ask((db) => listAuditEntries(db, team.id, { action, limit: 9 }))).toEqual([]);
  }
});

test("quickstart makes no more tokens than three, whatever else its bot has, until one is revoked", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const vault = new Vault(undefined);
  const quickstart = () => database.write((tx) => makeQuickstart(tx, vault, team.id, actor));

  const { bot } = await quickstart();
  const mine = { name: "mine", scopes: ["channels:read"], expiresAt: null };
  await database.write((tx) => createToken(tx, bot, mine, actor));
  await quickstart();
  expect((await quickstart()).token).not.toBeNull();
  const fourth = await quickstart();
  expect([fourth.token, fourth.kept.tokens.length]).toEqual([null, 3]);
  expect(await database.ask((db) => listTokens(db, team.id))).toHaveLength(4);

  await database.write((tx) => revokeToken(tx, team.id, fourth.kept.tokens[0]?.id ?? "", actor));
  expect((await quickstart()).token).not.toBeNull();
});

test("quickstart adds its bot to #general again", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const team = await workspace.team("Acme");
  const quickstart = () =>
    workspace.database.write((tx) => makeQuickstart(tx, new Vault(undefined), team.id, actor));
  const { bot } = await quickstart();
  await workspace.leave(team.general, bot);
  expect((await quickstart()).bot.id).toBe(bot.id);
});
