import { expect, test } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { until } from "../support/conditions.ts";
import { countOf } from "../support/data.ts";
import { environmentOfChild } from "../support/engine.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { copyAfterCrash, type CrashCopy } from "./crash-copy.ts";
import { Ledger, type Subscribed } from "./ledger.ts";
import { keyOf, type Playground, Sender } from "./load.ts";
import { Random } from "./random.ts";
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

async function subscribe(
  client: ApiClient,
  receiver: WildReceiver,
  events: readonly string[],
  channelIds: readonly string[] | null,
): Promise<Subscribed> {
  const input = { name: "wild", url: receiver.url, events, channel_ids: channelIds };
  const { status, json } = await client.post<{ data: WebhookSubscription; secret: string }>(
    "/webhooks",
    input,
  );
  expect(status).toBe(201);
  receiver.secret = json.secret;
  return { receiver, id: json.data.id, events, channelIds };
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

function expectEveryChangeDelivered(senders: readonly Sender[], subscribed: readonly Subscribed[]): void {
  for (const { receiver, events, channelIds } of subscribed) {
    const told = new Set([...receiver.delivered.values()].map(({ body }) => keyOf(body)));
    const untold = senders
      .flatMap(({ acknowledged }) => acknowledged)
      .filter(({ type, channelId }) => events.includes(type) && (channelIds?.includes(channelId) ?? true))
      .filter(({ key }) => !told.has(key));
    expect(untold).toEqual([]);
    expect(receiver.faults).toEqual([]);
  }
}

/** Each event has a cause and each change an event; the log has one success per delivery, and the queue is empty. */
async function expectWhole(copy: CrashCopy, subscribed: readonly Subscribed[]): Promise<void> {
  expect(await copy.damage()).toEqual([]);
  expect(await copy.column("SELECT event_seq FROM jobs")).toEqual([]);
  const withGaps = `SELECT channels.id FROM channels JOIN messages ON channel_id = channels.id GROUP BY channels.id
    HAVING count(*) <> max(position) OR min(position) <> 1 OR max(position) <> last_position`;
  expect(await copy.column(withGaps)).toEqual([]);

  // Only the last text of an edited message is stored, and no text of a deleted one.
  const changes = await copy.column(`
    SELECT CASE type WHEN 'standard' THEN 'message.created ' || id ELSE type || ' ' || author_id END FROM messages UNION ALL
    SELECT 'message.updated ' || id || ' ' || body FROM messages WHERE edited_at > 0 AND deleted_at IS NULL UNION ALL
    SELECT 'message.deleted ' || id FROM messages WHERE deleted_at IS NOT NULL UNION ALL
    SELECT 'reaction.added ' || message_id || ' ' || emoji FROM reactions UNION ALL
    SELECT 'channel.member_added ' || author_id FROM messages WHERE type = 'member_joined'`);
  const events = (await copy.envelopes()).map(keyOf);
  const told = new Set(events);
  expect(told.size).toBe(events.length);
  expect(changes.filter((change) => !told.has(change))).toEqual([]);
  const made = new Set(changes);
  const edited = new Set(await copy.column("SELECT id FROM messages WHERE edited_at > 0"));
  const isOldEdit = (key: string) =>
    key.startsWith("message.updated ") && edited.has(key.split(" ")[1] ?? "");
  expect(events.filter((event) => !made.has(event) && !isOldEdit(event))).toEqual([]);

  const envelopes = new Set(await copy.envelopes());
  const successes = await copy.column(
    "SELECT subscription_id || ' ' || event_id FROM attempts WHERE succeeded = 1",
  );
  const isAmongThem = new Set(successes);
  for (const { id, receiver } of subscribed) {
    for (const [event, { body }] of receiver.delivered) {
      expect([envelopes.has(body), isAmongThem.has(`${id} ${event}`)]).toEqual([true, true]);
    }
  }
  expect(successes).toHaveLength(subscribed.reduce((sum, { receiver }) => sum + receiver.delivered.size, 0));
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
  await expectWhole(copy, subscribed);
  expect(canary.delivered.size).toBe(0);
}

test(`${kills} crashes under load lose no acknowledged event, invent none, and leave a complete log`, async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  try {
    await crashAgainAndAgain(random);
  } catch (error) {
    throw new Error(`With the seed ${random.seed}: ${String(error)}`, { cause: error });
  }
}, 300_000);
