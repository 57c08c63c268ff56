// Not one of the checks, for it takes a minute and more: `bun test ./test/crash/nodes.ts` after `bun run build`.
import { expect, test } from "bun:test";
import { webhookEvents } from "../../src/event-types.ts";
import { type ApiClient, apiClient } from "../support/client.ts";
import { run } from "../support/cli.ts";
import { until } from "../support/conditions.ts";
import { makeWorkspace, type Nodes, startNodes } from "../support/proxied-nodes.ts";
import type { TestServer } from "../support/server.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { WildReceiver } from "../support/receivers/wild-receiver.ts";
import { expectEveryChangeDelivered, expectWhole, undone } from "./accounts.ts";
import { Sender, unlessInterrupted } from "./load.ts";
import { makePlayground } from "./playground.ts";
import { PostgresRows } from "./postgres-rows.ts";
import { Random } from "./random.ts";
import { subscribe, type Subscribed } from "./subscribed.ts";

const nodesCount = 3;
const sendersCount = 8;

/** How often something is broken: `PARLEY_TEST_DOSE=full` takes minutes. */
const dose =
  process.env.PARLEY_TEST_DOSE === "full"
    ? { kills: 51, restarts: 5, endedBackends: 100 }
    : { kills: 12, restarts: 2, endedBackends: 30 };

/** How many attempts one subscription can have in flight. */
const inFlightMax = 20;

const environment = {
  WEBHOOKS_BLOCK_PRIVATE_URLS: "false",
  // No receiver lets a request hang, and none on a busy machine is as slow.
  WEBHOOKS_TIMEOUT: "30",
  WEBHOOKS_BACKOFF_BASE: "0.001",
  WEBHOOKS_MAX_ATTEMPTS: "100",
  WEBHOOKS_DISABLE_AFTER: "1000000",
};

/** As one that must not lose anything is set up. */
const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };

/** Everything that goes on at once, and how far it is. */
class Turmoil {
  isOver = false;
  readonly senders: readonly Sender[];
  readonly #random: Random;

  constructor(senders: readonly Sender[], random: Random) {
    this.senders = senders;
    this.#random = random;
  }

  /** Waits until the senders have made this many requests more, at most, whatever became of them. */
  async after(most: number): Promise<void> {
    const count = () =>
      this.senders.reduce((sum, { acknowledged, interrupted }) => sum + acknowledged.length + interrupted, 0);
    const enough = count() + this.#random.between(1, most);
    await until("requests were made", () => this.isOver || count() >= enough, { timeout_ms: 60_000 });
  }

  /** Its share of the kills: sometimes several nodes are down at once. */
  async kill(server: TestServer): Promise<void> {
    for (let kill = 0; kill < dose.kills / nodesCount && !this.isOver; kill++) {
      await this.after(300);
      await server.kill9();
      await this.after(30);
      await startAgain(server);
    }
  }

  async restartDatabase(postgres: TestPostgres): Promise<void> {
    for (let restart = 0; restart < dose.restarts && !this.isOver; restart++) {
      await this.after(500);
      await postgres.stop(restart % 2 === 0 ? "immediate" : "fast");
      await this.after(20);
      await postgres.start();
    }
  }

  async endBackends(postgres: TestPostgres): Promise<void> {
    for (let ended = 0; ended < dose.endedBackends && !this.isOver;) {
      await this.after(30);
      ended += await endOneBackend(postgres);
    }
  }

  /** Makes and deletes subscriptions beside those that are counted. */
  async subscribeAndUnsubscribe(client: ApiClient, receiver: WildReceiver): Promise<void> {
    const input = { name: "beside", url: receiver.url, events: ["message.created"], channel_ids: null };
    const made: string[] = [];
    while (!this.isOver) {
      await this.after(20);
      const id = made.length > 5 ? made.shift() : undefined;
      const change =
        id === undefined
          ? client.post<{ data?: { id: string } }>("/webhooks", input)
          : client.del<{ data?: { id: string } }>(`/webhooks/${id}`);
      const answer = await unlessInterrupted(change);
      if (answer) expect(answer.status).toBe(id === undefined ? 201 : 204);
      if (answer?.json?.data) made.push(answer.json.data.id);
    }
  }

  /** Disables counted subscriptions, whose events wait then, and enables them again. */
  async disableAndEnable(nodes: Nodes, url: string, subscribed: readonly Subscribed[]): Promise<void> {
    const [server] = nodes.servers;
    while (!this.isOver) {
      const { id } = this.#random.pick(subscribed);
      for (const command of ["disable", "enable"]) {
        await this.after(100);
        await run(server?.dataDir ?? "", ["webhooks", command, id], { PARLEY_DATABASE_URL: url });
      }
    }
  }
}

/** While the database is away it may end at its start, and is started again, as a supervisor does. */
async function startAgain(server: TestServer): Promise<void> {
  await until(
    "the node has started",
    () =>
      server.start().then(
        () => true,
        () => false,
      ),
    { timeout_ms: 60_000 },
  );
}

/** Returns how many it has ended: none while the database is away. */
async function endOneBackend(postgres: TestPostgres): Promise<number> {
  try {
    const ended = await postgres.query(`SELECT pg_terminate_backend(pid) FROM (
      SELECT pid FROM pg_stat_activity WHERE datname = 'workspace' ORDER BY random() LIMIT 1) AS one`);
    return ended.length;
  } catch {
    return 0;
  }
}

/** Each attempt of the log is a request that its receiver got, and each failed one a misdeed of it. */
async function expectNoInventedAttempts(
  rows: PostgresRows,
  subscribed: readonly Subscribed[],
): Promise<void> {
  const [attempts, failures] = [await rows.attempts(), await rows.attempts("succeeded = 0")];
  let missing = 0;
  for (const { id, receiver } of subscribed) {
    for (const [event, { requests }] of receiver.delivered) {
      const logged = attempts.get(`${id} ${event}`) ?? 0;
      expect(logged, `attempts of ${id} ${event}`).toBeLessThanOrEqual(requests);
      missing += requests - logged;
      const failed = failures.get(`${id} ${event}`) ?? 0;
      const caused = receiver.misdeedsOf.get(event) ?? 0;
      expect(failed, `failures of ${id} ${event}`).toBeLessThanOrEqual(caused);
    }
  }
  const interruptions = dose.kills + dose.restarts * nodesCount + dose.endedBackends;
  expect(missing, "requests that are not in the log").toBeLessThanOrEqual(
    interruptions * subscribed.length * inFlightMax,
  );
}

async function turmoil(random: Random): Promise<void> {
  await using postgres = await startPostgres({ settings: durable });
  const url = await postgres.createDatabase("workspace");
  const playground = await makeWorkspace(url, (workspace) => makePlayground(workspace, 60));
  await using nodes = await startNodes(
    Array.from({ length: nodesCount }, () => url),
    environment,
  );
  await using canary = await WildReceiver.start([], random);
  await using beside = await WildReceiver.start(["fail"], random);
  await using failing = await WildReceiver.start(["fail"], random);
  await using redirecting = await WildReceiver.start(["redirect"], random, canary.url);
  await using resetting = await WildReceiver.start(["reset", "dawdle"], random);
  await using wild = await WildReceiver.start(["fail", "redirect", "reset", "garble"], random, canary.url);

  const client = apiClient(nodes.url, playground.token);
  const subscribed = [
    await subscribe(client, failing, webhookEvents, null),
    await subscribe(client, redirecting, ["reaction.added", "channel.member_added"], null),
    await subscribe(client, resetting, ["message.updated", "reaction.added"], playground.channelIds),
    await subscribe(client, wild, webhookEvents, null),
  ];
  const senders = Array.from({ length: sendersCount }, () => new Sender(playground, random));
  const all = new Turmoil(senders, random);
  const under = [
    ...senders.map((sender) => sender.sendWhile(() => !all.isOver, client)),
    all.subscribeAndUnsubscribe(client, beside),
    all.disableAndEnable(nodes, url, subscribed),
  ];
  const breaking = [
    ...nodes.servers.map((server) => all.kill(server)),
    all.restartDatabase(postgres),
    all.endBackends(postgres),
  ];
  try {
    await Promise.race([Promise.all(breaking), Promise.all(under)]);
  } finally {
    all.isOver = true;
    await Promise.allSettled([...under, ...breaking]);
  }
  await Promise.all(under);

  for (const { receiver } of subscribed) receiver.isTame = true;
  for (const { id } of subscribed) {
    const enable = ["webhooks", "enable", id];
    const dataDir = nodes.servers[0]?.dataDir ?? "";
    await until(
      "the subscription is enabled",
      async () => (await run(dataDir, enable, { PARLEY_DATABASE_URL: url })).status === 0,
    );
  }
  await using rows = new PostgresRows(url);
  await until("every delivery is made", async () => (await rows.column(undone)).length === 0, {
    timeout_ms: 60_000,
  });
  for (const server of nodes.servers) expect(await server.stop()).toBe(0);

  expectEveryChangeDelivered(senders, subscribed);
  await expectWhole(rows, subscribed);
  await expectNoInventedAttempts(rows, subscribed);
  const twice =
    "SELECT body FROM messages WHERE type = 'standard' AND deleted_at IS NULL AND edited_at IS NULL";
  expect(await rows.column(`${twice} GROUP BY body HAVING count(*) > 1`)).toEqual([]);
  expect(canary.delivered.size).toBe(0);
}

test(`${dose.kills} killed nodes of ${nodesCount}, ${dose.restarts} restarts of the database and ${dose.endedBackends} lost connections under load lose no acknowledged change, invent none, and leave a complete log`, async () => {
  const random = new Random(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  try {
    await turmoil(random);
  } catch (error) {
    throw new Error(`With the seed ${random.seed}: ${String(error)}`, { cause: error });
  }
}, 900_000);
