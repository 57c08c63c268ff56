import type { Database as SqliteFile } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { getChannel } from "../../src/channels/channels.ts";
import type { Database, Transaction } from "../../src/database/database.ts";
import * as schema from "../../src/database/schema.ts";
import type { Outcome } from "../../src/deliveries/attempt.ts";
import { showAttempt } from "../../src/deliveries/attempt-log.ts";
import { listAttempts } from "../../src/deliveries/attempt-search.ts";
import { Retention } from "../../src/deliveries/retention.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { withhold } from "../../src/deliveries/withhold.ts";
import { webhookEvents } from "../../src/event-types.ts";
import { selectLiveWebhook } from "../../src/incoming-webhooks/store.ts";
import { type QueuedJob, selectJob, selectJobCount, selectNextJobs } from "../../src/outbox/job-store.ts";
import { continueFanOuts, hasFanOuts } from "../../src/outbox/fan-outs.ts";
import { beforeFanOuts, selectFanOutsAfter, selectNextFanOut } from "../../src/outbox/fan-out-store.ts";
import { createLog } from "../../src/log/log.ts";
import { deleteMessage, editMessage, getMessage, postMessage } from "../../src/messages/messages.ts";
import { listMessages } from "../../src/messages/pages.ts";
import { addReaction, removeReaction } from "../../src/reactions/reactions.ts";
import { findKey } from "../../src/secrets/key-file.ts";
import { Vault } from "../../src/secrets/vault.ts";
import { now } from "../../src/system/repeatable.ts";
import { actorOf, type Subject } from "../../src/subject.ts";
import type { WebhookSubscription } from "../../src/subscriptions/schemas.ts";
import { enableSubscription } from "../../src/subscriptions/status.ts";
import { showSubscription } from "../../src/deliveries/subscription-with-attempts.ts";
import { selectSubscriptionStates } from "../../src/subscriptions/store.ts";
import { createSubscription, deleteSubscription } from "../../src/subscriptions/subscriptions.ts";
import { hashOf } from "../../src/secrets/secret-text.ts";
import { authenticate } from "../../src/tokens/tokens.ts";
import { deactivate } from "../../src/accounts/people.ts";
import { subjectOf } from "../../src/users/users.ts";
import { type Cast, seedCast } from "../support/cast.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type NotingConnection, notingConnection } from "./noting-connection.ts";
import { actor, openWorkspace, type Workspace } from "../support/workspace.ts";

/**
 * Work done for every request must cost the same in a workspace of any size. These tests run the real operations on a
 * connection that records each statement, and ask SQLite how it executes each one.
 */

const succeeded: Outcome = {
  kind: "succeeded",
  status: 204,
  error: null,
  detail: null,
  responseStart: null,
  retryAfter: null,
  durationMs: 1,
};
const failed: Outcome = { ...succeeded, kind: "rejected", status: 500, error: "the receiver answered 500" };

const folder = temporaryFolder();
let connection: NotingConnection;
let workspace: Workspace;
let cast: Cast;
let subject: Subject;
let file: SqliteFile;
let noted: NotingConnection["noted"];
let tx: Transaction;
/** Records the statements that run on it. */
let database: Database;
let subscriptionId: string;

beforeAll(async () => {
  workspace = await openWorkspace(folder.path);
  cast = await seedCast(workspace);
  subject = subjectOf(cast.bot);
  connection = notingConnection(join(folder.path, "parley.db"));
  ({ tx, file, noted } = connection);
  database = {
    ...workspace.database,
    ask: (question) => question(tx),
    write: async (change) => await change(tx),
  };
  subscriptionId = (await subscribe(null)).id;
  await subscribe([cast.open.id]);
});

afterAll(async () => {
  connection[Symbol.dispose]();
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Subscribes to every event, in these channels or in all. */
async function subscribe(channelIds: string[] | null, creator = actor): Promise<WebhookSubscription> {
  const vault = new Vault(findKey(folder.path, ""));
  const log = { warn: () => {} };
  const parts = { database, vault, guard: { blockPrivate: false }, log, maxSubscriptions: 1_000 };
  const input = { name: "CI", url: "http://127.0.0.1:1/", events: webhookEvents, channel_ids: channelIds };
  return (await createSubscription(parts, cast.teamId, input, creator)).data;
}

/** The statements of a commit with this operation, each with the steps of its query plan. */
async function plansOf(operation: () => Promise<unknown>): Promise<Array<{ sql: string; steps: string[] }>> {
  connection.commit();
  noted.length = 0;
  await operation();
  connection.commit();
  return noted.map(({ sql, params }) => {
    const explained = file.query<{ detail: string }, never[]>(`EXPLAIN QUERY PLAN ${sql}`);
    return { sql, steps: explained.all(...(params as never[])).map(({ detail }) => detail) };
  });
}

/** Fails on a statement that scans a table, sorts rows, skips rows or counts them. */
async function expectFlatCost(operation: () => Promise<unknown>): Promise<void> {
  const plans = await plansOf(operation);
  expect(plans.length).toBeGreaterThan(0);
  for (const { sql, steps } of plans) {
    expect(sql).not.toMatch(/\boffset\b|\bcount\(/i);
    for (const step of steps) {
      expect(step, sql).not.toMatch(/\bSCAN\b/);
      expect(step, sql).not.toMatch(/TEMP B-TREE/);
    }
    if (!/^insert/i.test(sql)) expect(steps.join("; "), sql).toMatch(/\bSEARCH\b/);
  }
}

describe("the cost does not grow with the data", () => {
  test("when a token is looked up", async () => {
    const { token } = await workspace.token(cast.bot);
    await expectFlatCost(async () => expect(authenticate(database, token)).toBeDefined());
  });

  test("when the address of an incoming webhook is looked up, with and without a signing secret", async () => {
    const unknown = hashOf("whatever");
    await expectFlatCost(async () => expect(selectLiveWebhook(tx, unknown)).toBeUndefined());
  });

  test("when a channel and the membership in it are looked up", async () => {
    await expectFlatCost(() => getChannel(tx, subject, cast.open.id));
  });

  test("when a page of messages is read, the first or one far behind", async () => {
    for (const page of [undefined, "1", "200"]) {
      await expectFlatCost(() =>
        listMessages(tx, subject, cast.open.id, page === undefined ? {} : { page }, ""),
      );
    }
  });

  test("when a message is posted, alone and as a reply, and when it is sent again", async () => {
    const client_uuid = crypto.randomUUID();
    const post = (input: object) => postMessage(tx, subject, cast.open.id, { body: "hello", ...input });
    const { id } = post({});
    await expectFlatCost(async () => post({ client_uuid, reply_to_id: id, thread_root_id: id }));
    await expectFlatCost(async () => post({ client_uuid, reply_to_id: id, thread_root_id: id }));
  });

  test("when a message is read, reacted to, edited and deleted", async () => {
    const { id } = postMessage(tx, subject, cast.open.id, { body: "hello" });
    await expectFlatCost(async () => getMessage(tx, subject, cast.open.id, id));
    await expectFlatCost(() => addReaction(tx, subject, cast.open.id, id, "👍"));
    await expectFlatCost(() => removeReaction(tx, subject, cast.open.id, id, "👍"));
    await expectFlatCost(() => editMessage(tx, subject, cast.open.id, id, { body: "goodbye" }));
    await expectFlatCost(() => deleteMessage(tx, subject, cast.open.id, id));
  });
});

describe("the cost of a delivery does not grow with the data", () => {
  /** The subscription's next job, after a message that it receives. */
  async function nextJob(): Promise<QueuedJob> {
    postMessage(tx, subject, cast.open.id, { body: "hello" });
    const next = selectNextJobs(tx, subscriptionId, 20);
    const job = next[0] && selectJob(tx, { subscriptionId, ...next[0] });
    if (!job) throw new Error("nothing is queued");
    return job;
  }

  test("when an event is queued for its subscriptions", async () => {
    await expectFlatCost(async () => {
      postMessage(tx, subject, cast.open.id, { body: "hello" });
      connection.commit();
      const queries = noted.map(({ sql }) => sql);
      expect(queries.filter((query) => /^insert into (events|jobs)/i.test(query))).toHaveLength(3);
    });
  });

  test("when events are limited to what creators may see, as they are queued and withheld", async () => {
    const byCreators = Object.create(tx, { webhooksVisibility: { value: "creator" } }) as Transaction;
    const { id } = await subscribe(null, actorOf(subjectOf(cast.stranger)));
    const waiting = async () => selectNextJobs(tx, id, 20).length;
    await expectFlatCost(async () => {
      postMessage(byCreators, subject, cast.open.id, { body: "hello" });
      expect(await waiting()).toBe(1);
    });
    await expectFlatCost(async () => {
      postMessage(byCreators, subject, cast.secret.id, { body: "secret" });
      expect(await waiting()).toBe(1);
    });
    postMessage(tx, subject, cast.secret.id, { body: "secret" });
    await expectFlatCost(async () => expect(withhold(byCreators, id, now())).toBe(1));
    await expectFlatCost(() => deactivate(tx, cast.stranger, actor));
  });

  test("when the worker reads a subscription's next jobs, and one of them", async () => {
    const job = await nextJob();
    await expectFlatCost(async () => selectNextJobs(tx, subscriptionId, 20));
    await expectFlatCost(async () => selectJob(tx, job));
  });

  test("when an attempt is settled: rescheduled, given up, the cause of a disabling, or successful", async () => {
    const rules = { maxAttempts: 2, backoffBaseMs: 1_000, disableAfter: 3 };
    await expectFlatCost(async () => settle(tx, await nextJob(), succeeded, rules));
    for (const disabled of [false, false, true]) {
      await expectFlatCost(async () => {
        expect(await settle(tx, await nextJob(), failed, rules)).toMatchObject({ isDisabled: disabled });
      });
    }
    await enableSubscription(database, cast.teamId, subscriptionId, { discardPending: false }, actor);
  });

  test("when the log is read, of one subscription or of a team, from its newest attempt backwards", async () => {
    await settle(tx, await nextJob(), failed, { maxAttempts: 2, backoffBaseMs: 1_000, disableAfter: 100 });
    const [latest] = await listAttempts(tx, cast.teamId, { subscriptionId, limit: 10 });
    const { id, place } = latest ?? { id: "", place: 0 };
    await expectFlatCost(() => showSubscription(tx, cast.teamId, subscriptionId));
    await expectFlatCost(() => showAttempt(tx, cast.teamId, id));
    await expectFlatCost(() => listAttempts(tx, cast.teamId, { subscriptionId, limit: 10 }));
    await expectFlatCost(() => listAttempts(tx, cast.teamId, { after: place - 1, limit: 10 }));

    await expectFlatCost(() => listAttempts(tx, cast.teamId, { limit: 10 }));
    const day = { since: Date.now() - 86_400_000, until: Date.now() };
    await expectFlatCost(() => listAttempts(tx, cast.teamId, { ...day, onlyFailed: true, limit: 10 }));
  });

  test("when retention takes a step, and when waiting events are discarded", async () => {
    const doomed = await subscribe(null);
    postMessage(tx, subject, cast.open.id, { body: "hello" });
    await deleteSubscription(tx, cast.teamId, doomed.id, actor);
    const retention = new Retention(database, 30, createLog("silent"));
    await expectFlatCost(() => retention.sweep(Date.now() + 365 * 86_400_000));
    postMessage(tx, subject, cast.open.id, { body: "hello" });
    const enable = { discardPending: true };
    await expectFlatCost(() => enableSubscription(database, cast.teamId, subscriptionId, enable, actor));
  });
});

describe("the cost of many subscriptions is bounded", () => {
  test("when one more is created, which checks the limit", async () => {
    const plans = await plansOf(() => subscribe(null));
    const counted = plans.find(({ sql }) => sql.startsWith("SELECT 1 FROM subscriptions"));
    expect(counted?.sql).toEndWith("LIMIT ?");
    // The index covers only subscriptions that are not deleted: deleted ones cost nothing, however old they are.
    expect(counted?.steps).toEqual(["SEARCH subscriptions USING INDEX subscriptions_by_team (team_id=?)"]);
  });

  test("when an event with more than a hundred subscriptions is stored, and queued for them in steps", async () => {
    for (let nth = 0; nth < 110; nth++) await subscribe(nth % 2 === 0 ? null : [cast.open.id]);
    const fanOut = () => selectNextFanOut(tx, "");
    await expectFlatCost(async () => {
      postMessage(tx, subject, cast.open.id, { body: "hello" });
      expect(hasFanOuts(tx, cast.teamId)).toBe(true);
      expect(noted.filter(({ sql }) => /insert into jobs/i.test(sql))).toEqual([]);
    });
    let steps = 0;
    for (let next = fanOut(); next; next = fanOut(), steps++) {
      const step = next;
      await expectFlatCost(async () => continueFanOuts(tx, step.teamId));
      expect(noted.length).toBeLessThan(105);
    }
    expect(steps).toBeGreaterThan(1);
    await expectFlatCost(async () => selectFanOutsAfter(tx, beforeFanOuts, 200));
  });

  test("when the queue is surveyed for /readyz and the metrics, a page at a time", async () => {
    await expectFlatCost(async () => selectSubscriptionStates(tx, "", 200));
    // It counts, but no more jobs than a page has.
    const [plan] = await plansOf(async () => selectJobCount(tx, subscriptionId, 0, 5_000));
    const ofJobs = plan?.steps.filter((step) => step.includes("jobs")) ?? [];
    expect(ofJobs.length).toBeGreaterThan(0);
    for (const step of ofJobs)
      expect(step).toStartWith("SEARCH jobs USING PRIMARY KEY (subscription_id=? AND");
  });
});

test("a subscription to a thousand channels takes a few statements", async () => {
  const ids = Array.from({ length: 1_000 }, () => crypto.randomUUID());
  const template = { ...cast.open, createdBy: null, lastPosition: 0 };
  await tx.insert(schema.channels).values(ids.map((id) => ({ ...template, id, name: id, slug: id })));
  connection.commit();
  noted.length = 0;
  await subscribe(ids);
  expect(noted.length).toBeLessThan(15);
  const filters = await tx.select().from(schema.subscriptionFilters);
  expect(filters.filter(({ channelId }) => channelId === ids.at(-1))).toHaveLength(webhookEvents.length);
});

test("a statement that scans a table is detected", async () => {
  const operation = async () => await tx.select().from(schema.messages).orderBy(schema.messages.body);
  const [plan] = await plansOf(operation);
  expect(plan?.steps.join("; ")).toMatch(/SCAN.*TEMP B-TREE/);
});
