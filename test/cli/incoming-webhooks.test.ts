import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AuditEntry } from "../../src/audit/audit.ts";
import type { IncomingWebhook } from "../../src/incoming-webhooks/incoming-webhooks.ts";
import { keys, onTerminal, run, runJson, runRefused } from "../support/cli.ts";
import { ingestDigest, startWebhookStage, type WebhookStage } from "../support/webhook-stage.ts";

type Made = IncomingWebhook & { url: string; secret: string | null };

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
});

const json = <Data>(...args: string[]) => runJson<Data>(stage.dataDir, args);
const tokenOf = (url: string) => url.split("/").at(-1) ?? "";

test("a URL accepts messages from its creation to its revocation, and is shown once", async () => {
  const channel = await stage.channel("private");
  const bot = await stage.bot(channel);
  const create = ["incoming-webhooks", "create", "--bot", bot.name, "--channel", channel.slug];
  const made = await json<Made>(...create, "--name", "builds");
  const { url, secret, ...listed } = made;
  expect(listed).toEqual({
    id: expect.any(String) as unknown as string,
    name: "builds",
    bot: { id: bot.id, name: bot.name },
    channel: { id: channel.id, name: channel.name, slug: channel.slug },
    signed: false,
    created_at: expect.any(String) as unknown as string,
  });
  expect(secret).toBeNull();
  expect(url).toMatch(/^http:\/\/localhost:8080\/webhooks\/incoming\/ply_in_[0-9A-Za-z]+$/);
  expect((await stage.send(tokenOf(url), { text: "Build 1 passed" })).status).toBe(202);
  expect(await json<IncomingWebhook[]>("incoming-webhooks", "list")).toContainEqual(listed);

  const rotated = await json<Made>("incoming-webhooks", "rotate-secret", made.id, "--yes");
  expect(rotated).toEqual({ ...listed, signed: true, secret: rotated.secret } as Made);
  expect(rotated.secret).toMatch(/^whsec_/);
  const body = JSON.stringify({ text: "Build 2 passed" });
  expect((await stage.send(tokenOf(url), body)).status).toBe(401);
  const signature = { "x-signature-256": ingestDigest(body, rotated.secret) };
  expect((await stage.send(tokenOf(url), body, signature)).status).toBe(202);

  const revoke = ["incoming-webhooks", "revoke", made.id];
  expect(await runRefused(stage.dataDir, revoke)).toMatchObject({
    status: 2,
    message: expect.stringContaining("--yes"),
  });
  expect(await json<IncomingWebhook>(...revoke, "--yes")).toEqual({ ...listed, signed: true });
  expect((await stage.send(tokenOf(url), body, signature)).status).toBe(404);
  expect((await stage.messages(channel)).map((message) => message.body)).toEqual([
    "Build 2 passed",
    "Build 1 passed",
  ]);

  const webhooks = await json<IncomingWebhook[]>("incoming-webhooks", "list");
  expect(webhooks).toEqual([]);
  const audit = await json<AuditEntry[]>("audit", "list", "--limit", "1000");
  const changes = audit.filter(({ target }) => target === `incoming_webhook:${made.id}`);
  expect(changes.map(({ action }) => action)).toEqual(
    ["revoked", "secret_rotated", "created"].map((verb) => `incoming_webhook.${verb}`),
  );
  expect(new Set(changes.map(({ actor }) => actor))).toEqual(
    new Set([`cli:${Bun.spawnSync(["id", "-un"]).stdout.toString().trim()}`]),
  );
  expect(JSON.stringify(audit)).not.toContain(tokenOf(url));
  expect(JSON.stringify(audit)).not.toContain(rotated.secret ?? "");
});

test("a signed webhook accepts only signed requests, from the first one on", async () => {
  const channel = await stage.channel();
  const bot = await stage.bot(channel);
  const create = ["incoming-webhooks", "create", "--bot", bot.id, "--channel", channel.id, "--signed"];
  const made = await json<Made>(...create);
  expect(made).toMatchObject({ signed: true, name: bot.name });
  const body = JSON.stringify({ text: "signed" });
  expect((await stage.send(tokenOf(made.url), body)).status).toBe(401);
  const signature = { "x-signature-256": `sha256=${ingestDigest(body, made.secret)}` };
  expect((await stage.send(tokenOf(made.url), body, signature)).status).toBe(202);
  expect(await runRefused(stage.dataDir, create)).toMatchObject({ status: 1 });
});

test("on a terminal prompts ask for the bot and one of its channels, and revoking names the webhook", async () => {
  const channel = await stage.channel("private");
  await stage.workspace.bot(stage.team.id, "Asked Bot", [channel]);
  {
    await using screen = onTerminal(stage.dataDir, ["incoming-webhooks", "create"]);
    await screen.shows("Which bot?");
    screen.type("Asked");
    await screen.shows("Asked");
    screen.type(keys.enter);
    await screen.shows("Which channel?");
    await screen.shows(`#${channel.name}`);
    screen.type(keys.enter);
    await screen.shows(`posts into #${channel.name} as Asked Bot.`);
    await screen.shows("/webhooks/incoming/ply_in_");
    expect(await screen.ended()).toBe(0);
    expect(screen.text).not.toContain("#general");
  }
  await using screen = onTerminal(stage.dataDir, ["incoming-webhooks", "revoke"]);
  await screen.shows("Which incoming webhook?");
  screen.type(keys.enter);
  await screen.shows(`Revoke the incoming webhook Asked Bot for #${channel.name}?`);
  screen.type("y");
  await screen.shows("Revoked the incoming webhook Asked Bot");
  expect(await screen.ended()).toBe(0);
});

test.each([
  ["no secret", []],
  ["a secret", ["--signed"]],
])("a URL with %s comes with what to paste into a script, and takes what that posts", async (_, flags) => {
  const channel = await stage.channel();
  const bot = await stage.bot(channel);
  const create = ["incoming-webhooks", "create", "--bot", bot.name, "--channel", channel.slug];
  const made = await json<Made & { set_up: string[] }>(...create, ...flags, "--for", "text");
  expect(made.url).toMatch(/\/ply_in_[0-9A-Za-z]+\/text$/);
  expect(made.signed).toBe(flags.length > 0);
  const pasted = made.set_up.filter((line) => line.startsWith("  ")).join("\n");
  const served = pasted.replace(/http:\/\/localhost:\d+/, stage.server.url);
  const child = Bun.spawn(["sh", "-c", served], { stdout: "pipe" });
  expect(await child.stdout.text()).toBe("ok");
  expect((await stage.messages(channel))[0]?.body).toBe("The backup is done.");
});

test("a program that is not known is refused, with those that are", async () => {
  const refused = await runRefused(stage.dataDir, ["incoming-webhooks", "create", "--for", "telex"]);
  expect(refused).toMatchObject({ status: 2, message: expect.stringContaining("slack") });
});

test.each(["slack", "discord", "sentry"])(
  "a secret for %s, which cannot prove it, is advised against",
  async (program) => {
    const channel = await stage.channel();
    const bot = await stage.bot(channel);
    const create = ["incoming-webhooks", "create", "--bot", bot.name, "--channel", channel.slug, "--signed"];
    const { stdout } = await run(stage.dataDir, [...create, "--for", program]);
    expect(stdout).toMatch(/whsec_\w+/);
    expect(stdout).toContain("create the webhook without --signed");
  },
);
