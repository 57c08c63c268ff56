import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Database } from "../../src/database/database.ts";
import { listAttempts } from "../../src/deliveries/attempt-search.ts";
import { DeliveryHold } from "../../src/deliveries/hold.ts";
import { placesFor, requestsMax } from "../../src/deliveries/places.ts";
import { QueueClock } from "../../src/deliveries/queue-clock.ts";
import { Worker } from "../../src/deliveries/worker.ts";
import { createLog } from "../../src/log/log.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { createSubscription, listSubscriptions } from "../../src/subscriptions/subscriptions.ts";
import { refuseInserts } from "../support/tampering.ts";
import { rowsOf } from "../support/data.ts";
import { until } from "../support/conditions.ts";
import { type Receiver, startReceiver } from "../support/receivers/receiver.ts";
import { appendMessage } from "../../src/messages/append.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { actor, openWorkspace } from "../support/workspace.ts";
import { settled } from "./memory-queue.ts";

const guard = { blockPrivate: false };
const rules = { maxAttempts: 5, backoffBaseMs: 10, disableAfter: 100 };

/** A worker on a workspace of its own in this process, with a receiver subscribed to every message. */
async function startWorker(receiver: Receiver, { hasKey = true } = {}) {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const team = await workspace.team("Acme");
  const vault = new Vault(findKey(folder.path, ""));
  const logged: string[] = [];
  const log = createLog("info", { write: (line) => void logged.push(line) });
  const input = { name: "test", url: receiver.url, events: ["message.created"] };
  await createSubscription({ database, guard, vault, log, maxSubscriptions: 1 }, team.id, input, actor);
  const worker = new Worker({
    database,
    vault: hasKey ? vault : new Vault(undefined),
    outgoing: { guard, timeoutMs: 5_000 },
    rules,
    clock: await QueueClock.start(database),
    places: placesFor(requestsMax),
    hold: await DeliveryHold.begin({ database, dataDir: folder.path, log }, ""),
    log,
  });
  return {
    database,
    dataDir: folder.path,
    team,
    worker,
    post: (body: string) => workspace.message(team.general, team.owner, body),
    count: (msg: string) => logged.filter((line) => line.includes(`"msg":"${msg}"`)).length,
    async [Symbol.asyncDispose]() {
      await worker.stop();
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function queued(database: Database): Promise<number> {
  return (await database.ask((db) => db.all(sql`SELECT event_seq FROM jobs`))).length;
}

test("an attempt that cannot be recorded yet is not repeated: its outcome waits", async () => {
  await using receiver = startReceiver();
  await using stage = await startWorker(receiver);
  const { database } = stage;
  const allowInserts = await refuseInserts(stage.dataDir, "attempts");
  await stage.post("hello");
  await until("the outcome cannot be written", () => stage.count("delivery.held_up") > 0);
  expect(await queued(database)).toBe(1);

  await allowInserts();
  await until("it is written", async () => (await queued(database)) === 0);
  expect(receiver.requests).toHaveLength(1);
  expect(await database.ask((db) => listAttempts(db, stage.team.id, { limit: 10 }))).toMatchObject([
    { succeeded: true },
  ]);
});

test("an event is sent although its subscription cannot be read when the event is stored", async () => {
  await using receiver = startReceiver();
  await using stage = await startWorker(receiver);
  await rowsOf(stage.dataDir, "ALTER TABLE subscriptions RENAME TO away");
  await stage.post("hello");
  await until("it is said", () => stage.count("delivery.held_up") > 0);
  await rowsOf(stage.dataDir, "ALTER TABLE away RENAME TO subscriptions");
  expect(JSON.parse((await receiver.nth(1)).text)).toMatchObject({ data: { body: "hello" } });
});

test("a subscription whose secret cannot be read is logged once, however many jobs wait, until all are checked again", async () => {
  await using receiver = startReceiver();
  await using stage = await startWorker(receiver, { hasKey: false });
  await Promise.all(Array.from({ length: 30 }, (_, count) => stage.post(`message ${count}`)));
  await until("it is said", () => stage.count("webhook.secret_unreadable") === 1);
  await stage.post("one more");
  await settled();
  expect(stage.count("webhook.secret_unreadable")).toBe(1);
  await stage.worker.wakeAll();
  await until("it is said again", () => stage.count("webhook.secret_unreadable") === 2);
  const [subscription] = await stage.database.ask((db) => listSubscriptions(db, stage.team.id));
  expect(subscription).toMatchObject({ status: "active", consecutive_failures: 0 });
  expect([await queued(stage.database), receiver.requests.length]).toEqual([31, 0]);
});

test("a job whose event is gone is skipped and delays nothing", async () => {
  await using receiver = startReceiver();
  await using stage = await startWorker(receiver);
  const { database, post, team } = stage;
  await database.write((tx) => {
    appendMessage(tx, team.general, team.owner, { type: "standard", body: "lost" });
    tx.run(sql`DELETE FROM events`);
  });
  await post("hello");
  const request = await receiver.nth(1);
  expect(JSON.parse(request.text)).toMatchObject({ data: { body: "hello" } });
  await until("only the lost one is left", async () => (await queued(database)) === 1);
  expect(receiver.requests).toHaveLength(1);
});
