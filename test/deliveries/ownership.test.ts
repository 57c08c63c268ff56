import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Database } from "../../src/database/database.ts";
import { DeliveryHold } from "../../src/deliveries/hold.ts";
import { placesFor, requestsMax } from "../../src/deliveries/places.ts";
import { QueueClock } from "../../src/deliveries/queue-clock.ts";
import { Worker } from "../../src/deliveries/worker.ts";
import { createLog } from "../../src/log/log.ts";
import { OwnedShards } from "../../src/nodes/owned-shards.ts";
import { shardOf } from "../../src/nodes/shards.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createSubscription } from "../../src/subscriptions/subscriptions.ts";
import { until } from "../support/conditions.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";

test("events of a subscription that another server owns are left to it, and it is told", async () => {
  await using receiver = startReceiver();
  await using stage = await startOwner(receiver);
  await stage.post("for the other");
  await until("the other is told", () => stage.told.length > 0);
  expect(stage.told).toEqual([stage.subscriptionId]);
  await stage.worker.wakeAll();
  expect(await queued(stage.database)).toBe(1);

  stage.shards.add([stage.shard]);
  await stage.worker.wakeAll();
  expect(JSON.parse((await receiver.nth(1)).text)).toMatchObject({ data: { body: "for the other" } });
  await until("it is settled", async () => (await queued(stage.database)) === 0);
});

test("what is given up ends the attempts under way and begins none", async () => {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  await using receiver = startReceiver(async () => {
    begun.resolve();
    await answer.promise;
    return new Response();
  });
  await using stage = await startOwner(receiver);
  stage.shards.add([stage.shard]);
  // A new receiver gets one request at a time, so the others of them wait.
  await Promise.all(["one", "two", "three"].map((body) => stage.post(body)));
  await begun.promise;
  stage.shards.giveUp([stage.shard]);
  expect(stage.shards.takeEnded()).toEqual([]);
  answer.resolve();
  await until("what was under way has ended", () => stage.shards.takeEnded().length === 1);
  expect(await queued(stage.database)).toBe(2);
  await stage.worker.wakeAll();
  await stage.post("four");
  await until("the other is told", () => stage.told.length > 0);
  expect([await queued(stage.database), receiver.requests.length]).toEqual([3, 1]);

  stage.shards.add([stage.shard]);
  await stage.worker.wakeAll();
  await until("all are sent", async () => (await queued(stage.database)) === 0);
  expect(receiver.requests.length).toBe(4);
});

async function queued(database: Database): Promise<number> {
  return (await database.ask((db) => db.all(sql`SELECT event_seq FROM jobs`))).length;
}

/** A worker that owns nothing at first, with a receiver subscribed to every message. */
async function startOwner(receiver: Receiver) {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const vault = new Vault(findKey(folder.path, ""));
  const log = createLog("silent");
  const guard = { blockPrivate: false };
  const input = { name: "test", url: receiver.url, events: ["message.created"] };
  const parts = { database, guard, vault, log, maxSubscriptions: 1 };
  const { data: subscription } = await createSubscription(parts, team.id, input, actor);
  const shards = new OwnedShards(() => {});
  const told: string[] = [];
  const worker = new Worker({
    database,
    vault,
    outgoing: { guard, timeoutMs: 5_000 },
    rules: { maxAttempts: 5, backoffBaseMs: 10, disableAfter: 100 },
    clock: await QueueClock.start(database),
    places: placesFor(requestsMax),
    hold: await DeliveryHold.begin({ database, dataDir: folder.path, log }, ""),
    ownership: {
      owns: (id) => shards.has(shardOf(id)),
      begin: (id) => shards.begin(shardOf(id)),
      end: (id) => shards.end(shardOf(id)),
      tell: (ids) => void told.push(...ids),
    },
    log,
  });
  return {
    database,
    worker,
    shards,
    told,
    subscriptionId: subscription.id,
    shard: shardOf(subscription.id),
    post: (body: string) => workspace.message(team.general, team.owner, body),
    async [Symbol.asyncDispose]() {
      await worker.stop();
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
