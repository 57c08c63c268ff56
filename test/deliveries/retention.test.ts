import { expect, test } from "bun:test";
import type { Database } from "../../src/database/database.ts";
import { Retention } from "../../src/deliveries/retention.ts";
import { insertEvent, selectEventSeqs } from "../../src/outbox/event-store.ts";
import { beforeFanOuts, insertFanOut, selectFanOutsAfter } from "../../src/outbox/fan-out-store.ts";
import { enqueue, makeJobDue, selectJobsAfter } from "../../src/outbox/job-store.ts";
import { createLog } from "../../src/log/log.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const longAgo = Date.now() - 365 * 86_400_000;

/** Events that nothing refers to yet; their numbers. */
async function addEvents(database: Database, count: number): Promise<number[]> {
  const event = { type: "message.created", data: "{}", createdAt: longAgo, traceparent: null } as const;
  const rows = Array.from({ length: count }, () => ({ id: crypto.randomUUID(), ...event }));
  return await database.write((tx) => rows.map((row) => insertEvent(tx, row)));
}

/** Queues each of the events for the subscription, each due a second after the one before. */
async function queue(database: Database, subscriptionId: string, seqs: number[], from = longAgo) {
  await database.write((tx) => {
    for (const [nth, eventSeq] of seqs.entries())
      enqueue(tx, { subscriptionId, dueAt: from + nth * 1_000, eventSeq });
  });
}

async function left(database: Database): Promise<number[]> {
  return await database.ask((db) => selectEventSeqs(db, { after: 0, limit: 10_000 }));
}

test("of a thousand events exactly those that are queued are kept", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const seqs = await addEvents(database, 1_000);
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  const even = seqs.filter((seq) => seq % 2 === 0);
  await queue(database, first, even.slice(0, 300));
  await queue(database, second, even.slice(250));
  await new Retention(database, 30, createLog("silent")).sweep();
  expect(await left(database)).toEqual(even);
});

test("an event that is gone is no longer queued for any subscription, and does not block later events of its team", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const [kept = 0] = await addEvents(database, 1);
  await database.write((tx) => {
    for (const eventSeq of [kept, ...Array.from({ length: 450 }, (_, nth) => kept + 1 + nth)])
      insertFanOut(tx, { teamId: eventSeq % 2 === 0 ? "even" : "odd", channelId: "", eventSeq });
  });
  await new Retention(database, 30, createLog("silent")).sweep();
  const rest = await database.ask((db) => selectFanOutsAfter(db, beforeFanOuts, 1_000));
  expect(rest.map(({ eventSeq }) => eventSeq)).toEqual([kept]);
});

test("a stop does not wait for the rest between two steps", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  await addEvents(database, 1_000);
  // A step that takes so long is followed by a rest of several seconds.
  const slow: Database = {
    ...database,
    write: async (change) => {
      await Bun.sleep(500);
      return await database.write(change);
    },
  };
  const retention = new Retention(slow, 30, createLog("silent"));
  retention.start();
  await until("some are gone", async () => (await left(database)).length < 1_000);
  const { promise: tooLate, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve("the rest was waited for"), 2_000);
  expect(await Promise.race([retention.stop(), tooLate])).toBeUndefined();
  clearTimeout(timer);
  expect((await left(database)).length).toBeGreaterThan(0);
});

test.each([3, 5, 7])(
  "events whose jobs are made due at once while retention reads the queue are kept (read %i)",
  async (nth) => {
    using folder = temporaryFolder();
    await using workspace = await openWorkspace(folder.path);
    const { database } = workspace;
    const seqs = await addEvents(database, 1_000);
    const subscriptionId = crypto.randomUUID();
    await queue(database, subscriptionId, seqs, Date.now() + 86_400_000);

    let looks = 0;
    const enabledMeanwhile: Database = {
      ...database,
      ask: (question) => {
        if (++looks === nth) {
          void database.write((tx) => {
            const all = selectJobsAfter(tx, subscriptionId, { dueAt: 0, eventSeq: 0 }, seqs.length);
            for (const job of all) makeJobDue(tx, subscriptionId, job);
          });
        }
        return database.ask(question);
      },
    };
    await new Retention(enabledMeanwhile, 30, createLog("silent")).sweep();
    expect(looks).toBeGreaterThan(nth);
    expect(await left(database)).toEqual(seqs);
  },
);
