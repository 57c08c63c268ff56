import { expect, test } from "bun:test";
import type { Account } from "../../src/deliveries/account.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { run, runJson } from "../support/cli.ts";
import { countOf, rowsOf } from "../support/data.ts";
import { environmentOfChild } from "../support/engine.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { expectEveryChangeDelivered, expectWhole } from "./accounts.ts";
import { copyAfterCrash } from "./crash-copy.ts";
import { Ledger } from "./ledger.ts";
import { Sender } from "./load.ts";
import type { Playground } from "./playground.ts";
import { Random } from "./random.ts";
import { subscribe } from "./subscribed.ts";
import { misdeeds, WildReceiver } from "../support/receivers/wild-receiver.ts";

const kills = 50;
const sendersCount = 8;

/** A receiver misbehaves at most five times, so the longest wait is 1.3 s; a crash does not use up an attempt. */
const environment = {
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  // Long enough for a receiver on a busy machine to read its requests: it counts only those that it has read.
  WEBHOOKS_TIMEOUT: "1",
  WEBHOOKS_BACKOFF_BASE: "0.001",
  WEBHOOKS_MAX_ATTEMPTS: "100",
  WEBHOOKS_DISABLE_AFTER: "1000000",
};

async function makePlayground(dataDir: string): Promise<Playground> {
  const program = Bun.fileURLToPath(import.meta.resolve("./make-playground.ts"));
  const child = Bun.spawn([process.execPath, program, dataDir], {
    env: environmentOfChild(dataDir),
    stdout: "pipe",
    stderr: "inherit",
  });
  const printed = await child.stdout.text();
  expect(await child.exited).toBe(0);
  return JSON.parse(printed) as Playground;
}

/** Lets the senders make changes until this many are acknowledged, and kills the server meanwhile. */
async function loadAndKill(
  server: TestServer,
  token: string,
  senders: readonly Sender[],
  changes: number,
): Promise<void> {
  const before = Sender.total(senders);
  const client = apiClient(server.url, token);
  const sending = Promise.all(senders.map((sender) => sender.sendUntilTheEnd(client)));
  const loaded = until("there is enough to lose", () => Sender.total(senders) - before >= changes);
  await Promise.race([loaded, sending]);
  await server.kill9();
  await sending;
}

async function crashAgainAndAgain(random: Random): Promise<void> {
  using folder = temporaryFolder();
  const playground = await makePlayground(folder.path);
  await using server = await startServer({ dataDir: folder.path, environment });
  await using canary = await WildReceiver.start([], random);
  await using failing = await WildReceiver.start(["fail"], random);
  await using hanging = await WildReceiver.start(["hang"], random);
  await using redirecting = await WildReceiver.start(["redirect"], random, canary.url);
  await using resetting = await WildReceiver.start(["reset"], random);
  await using wild = await WildReceiver.start(misdeeds, random, canary.url);

  const client = apiClient(server.url, playground.token);
  const subscribed = [
    await subscribe(client, failing, webhookEvents, null),
    await subscribe(client, hanging, ["message.created", "message.deleted"], [playground.privateId]),
    await subscribe(client, redirecting, ["reaction.added", "channel.member_added"], null),
    await subscribe(client, resetting, ["message.updated", "reaction.added"], playground.channelIds),
    await subscribe(client, wild, webhookEvents, null),
  ];
  const receivers = subscribed.map(({ receiver }) => receiver);
  const senders = Array.from({ length: sendersCount }, () => new Sender(playground, random));
  const ledger = new Ledger(subscribed);

  for (let kill = 0; kill < kills; kill++) {
    await loadAndKill(server, playground.token, senders, random.between(1, 150));
    await Promise.all(receivers.map((receiver) => receiver.quiet()));
    using copy = await copyAfterCrash(folder.path);
    expect(await copy.damage()).toEqual([]);
    await ledger.closeAfterCrash(copy);
    await server.start();
  }

  for (const receiver of receivers) receiver.isTame = true;
  const isDone = async () => (await countOf(folder.path, "jobs")) === 0;
  await until("every delivery is made", isDone, { timeout_ms: 60_000 });
  expect(await server.stop()).toBe(0);
  // No crash made the workspace look like an older copy of itself.
  expect(server.logLines().filter((line) => line.includes('"deliveries.held"'))).toEqual([]);

  using copy = await copyAfterCrash(folder.path);
  await ledger.expectBalanced(copy);
  expectEveryChangeDelivered(senders, subscribed);
  expect(await copy.damage()).toEqual([]);
  await expectWhole(copy, subscribed);
  expect(canary.delivered.size).toBe(0);
  await expectAccount(folder.path);
}

/** Every event has an outcome for every subscription, and an attempt that somebody removes is missed. */
async function expectAccount(dataDir: string): Promise<void> {
  const whole = await runJson<Account>(dataDir, ["deliveries", "account"], environment);
  expect(whole).toMatchObject({ waiting: 0, missing: 0, holes: [] });
  expect(whole.delivered).toBeGreaterThan(0);
  const [found] = await rowsOf<{ seq: number; event_id: string; subscription_id: string }>(
    dataDir,
    "SELECT seq, event_id, subscription_id FROM attempts WHERE succeeded = 1 ORDER BY seq DESC LIMIT 1",
  );
  const { seq, event_id, subscription_id } = found ?? { seq: 0, event_id: "", subscription_id: "" };
  await rowsOf(dataDir, "DELETE FROM attempts WHERE seq = ?", seq);
  const { status, stdout } = await run(dataDir, ["deliveries", "account", "--json"], environment);
  expect(status).toBe(1);
  const { data } = JSON.parse(stdout) as { data: Account };
  expect(data.holes.map((hole) => [hole.event_id, hole.webhook.id])).toEqual([[event_id, subscription_id]]);
}

test(`${kills} crashes under load lose no acknowledged event, invent none, and leave a complete log`, async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  try {
    await crashAgainAndAgain(random);
  } catch (error) {
    throw new Error(`With the seed ${random.seed}: ${String(error)}`, { cause: error });
  }
}, 300_000);
