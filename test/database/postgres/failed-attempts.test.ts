import { expect, test } from "bun:test";
import { changesLock, lockClass } from "../../../src/database/postgres/lock-keys.ts";
import { openPostgres } from "../../../src/database/postgres/open.ts";
import { settle } from "../../../src/deliveries/settle.ts";
import { selectSubscription } from "../../../src/subscriptions/store.ts";
import { PostgresRows } from "../../crash/postgres-rows.ts";
import { until } from "../../support/conditions.ts";
import { DatabaseProxy } from "../../support/database-proxy.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { insertSubscriber } from "../../support/subscriber.ts";
import { Workspace } from "../../support/workspace.ts";

/** What writes rows and commits by itself. */
const flush = /\bappend_rows\(/;

/** What begins each change by statements. */
const exclusiveLock = /\bpg_advisory_xact_lock\(/;

const rules = { maxAttempts: 8, backoffBaseMs: 1_000, disableAfter: 5 };
const answers = {
  success: { kind: "succeeded", status: 204, error: null },
  failure: { kind: "rejected", status: 500, error: "the receiver answered 500" },
} as const;

/** What the audit log says about the disabling. */
const disabled = '{"name":"CI","consecutive_failures":5,"error":"the receiver answered 500"}';

/** A workspace of two nodes, one of them behind a proxy, with a subscription that has failed three times in a row. */
async function startDeliveries() {
  const parts = new AsyncDisposableStack();
  const { url } = parts.use(await freshDatabase());
  const proxy = parts.use(await DatabaseProxy.start(Number(new URL(url).port)));
  const node = parts.use(new Workspace(await openPostgres(proxy.through(url))));
  const other = parts.use(new Workspace(await openPostgres(url)));
  const { id: teamId, owner, general } = await other.team("Acme");
  const subscriptionId = await insertSubscriber(other.database, teamId, 3);
  const rows = parts.use(new PostgresRows(url));
  return {
    url,
    proxy,
    node,
    other,
    teamId,
    rows,
    subscriptionId,
    post: (body: string) => node.message(general, owner, body),
    /** Settles an attempt at the event's job. */
    end(on: Workspace, answer: keyof typeof answers, eventSeq: number, id = subscriptionId) {
      const job = {
        subscriptionId: id,
        dueAt: 1,
        eventSeq,
        attempts: 0,
        eventId: Bun.randomUUIDv7(),
        eventType: "message.created" as const,
        envelope: "{}",
        traceparent: null,
      };
      const outcome = {
        ...answers[answer],
        detail: null,
        responseStart: null,
        retryAfter: null,
        durationMs: 1,
      };
      const ending = { attemptId: Bun.randomUUIDv7(), now: eventSeq, aheadMs: 0, isCounted: true };
      return on.database.write((tx) => settle(tx, job, outcome, rules, ending));
    },
    subscription: () => node.database.ask((db) => selectSubscription(db, teamId, subscriptionId)),
    disablings: () => rows.column("SELECT details FROM audit_entries WHERE action = 'webhook.auto_disabled'"),
    addJob: (eventSeq: number) =>
      rows.column(`INSERT INTO jobs VALUES ('${subscriptionId}', 1, ${eventSeq}, 0) RETURNING 1`),
    /** The jobs that are left, each as the number of attempts and when it is due. */
    jobs: () => rows.column("SELECT attempts || ' ' || due_at FROM jobs"),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** Keeps changes by statements waiting as a node does whose commit is under way, until the returned function is called. */
async function beginCommit(url: string): Promise<() => Promise<void>> {
  const session = new PostgresRows(url);
  await session.column(`SELECT pg_advisory_lock_shared(${lockClass}, ${changesLock})`);
  return () => session[Symbol.asyncDispose]();
}

const waiting =
  "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
const uncommitted =
  "SELECT pid FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND wait_event = 'ClientRead' AND datname = current_database()";

test("a failed attempt waits for no commit that is under way on another node", async () => {
  await using at = await startDeliveries();
  await at.addJob(1);
  const endCommit = await beginCommit(at.url);
  const { logged, nextAttemptAt } = await at.end(at.node, "failure", 1);
  await endCommit();
  expect(logged).toMatchObject({ seq: 1, failure: { streak: 4 } });
  expect(await at.subscription()).toMatchObject({ status: "active", consecutiveFailures: 4 });
  expect(await at.jobs()).toEqual([`1 ${nextAttemptAt}`]);
});

test("while a subscription is being disabled, posts and other outcomes go on, and its own count in order", async () => {
  await using at = await startDeliveries();
  const neighbour = await insertSubscriber(at.other.database, at.teamId);
  const disabling = at.proxy.holdNext(exclusiveLock, "delayed");
  const first = [at.end(at.node, "failure", 1), at.end(at.node, "failure", 2)];
  const disable = await disabling;
  const later = [at.end(at.node, "success", 3), at.end(at.node, "failure", 4)];
  await at.post("meanwhile");
  await at.end(at.node, "failure", 5, neighbour);
  expect(await at.subscription()).toMatchObject({ status: "active", consecutiveFailures: 3 });
  disable();

  const settled = await Promise.all([...first, ...later]);
  expect(settled.map(({ isDisabled }) => isDisabled)).toEqual([false, true, false, false]);
  expect(settled.map(({ logged }) => logged.seq)).toEqual([2, 3, 4, 5]);
  expect(settled.map(({ logged }) => logged.failure?.streak)).toEqual([4, 5, undefined, 1]);
  expect(await at.subscription()).toMatchObject({
    status: "disabled",
    consecutiveFailures: 1,
    lastSuccessAt: 3,
  });
  expect(await at.disablings()).toEqual([disabled]);
  // From now on they are data again.
  const endAnother = await beginCommit(at.url);
  await at.end(at.node, "failure", 6);
  await endAnother();
  expect(await at.subscription()).toMatchObject({ consecutiveFailures: 2 });
});

test("failures on two nodes at the same time make one streak, which disables once", async () => {
  await using at = await startDeliveries();
  await at.end(at.node, "success", 1);
  const ends = Array.from({ length: 12 }, (_, nth) =>
    at.end(nth % 2 === 0 ? at.node : at.other, "failure", nth + 2),
  );
  const settled = await Promise.all(ends);
  const streaks = settled.map(({ logged }) => logged.failure?.streak ?? 0);
  expect(streaks.toSorted((one, other) => one - other)).toEqual(streaks.map((_, nth) => nth + 1));
  expect(settled.filter(({ isDisabled }) => isDisabled)).toHaveLength(1);
  expect(await at.disablings()).toEqual([disabled]);
  expect(await at.subscription()).toMatchObject({ status: "disabled", consecutiveFailures: 12 });
});

test("a failure counts those of another node that are not committed yet", async () => {
  await using at = await startDeliveries();
  const open = at.proxy.holdNext(flush, "open");
  const first = at.end(at.node, "failure", 1);
  const commit = await open;
  await until("the first is written", async () => (await at.rows.column(uncommitted)).length > 0);
  const second = at.end(at.other, "failure", 2);
  await until("the second waits", async () => (await at.rows.column(waiting)).length > 0);
  commit();
  expect(await first).toMatchObject({ isDisabled: false, logged: { failure: { streak: 4 } } });
  expect((await second).isDisabled).toBe(true);
  expect(await at.disablings()).toEqual([disabled]);
});

for (const fault of ["lost", "unanswered"] as const) {
  test(`a failure counts once whose commit was ${fault} with its connection`, async () => {
    await using at = await startDeliveries();
    await at.addJob(1);
    const cut = at.proxy.cutNext(flush, fault);
    const { logged, isDisabled, nextAttemptAt } = await at.end(at.node, "failure", 1);
    await cut;
    // Counted twice, it would disable the subscription.
    expect({ logged, isDisabled }).toMatchObject({
      logged: { seq: 1, failure: { streak: 4 } },
      isDisabled: false,
    });
    expect(await at.subscription()).toMatchObject({ status: "active", consecutiveFailures: 4 });
    expect(await at.rows.column("SELECT id FROM attempts")).toHaveLength(1);
    expect(await at.jobs()).toEqual([`1 ${nextAttemptAt}`]);
  });
}

for (const fault of ["lost", "unanswered"] as const) {
  test(`a subscription is disabled once by a commit that was ${fault} with its connection`, async () => {
    await using at = await startDeliveries();
    await at.end(at.node, "failure", 1);
    const cut = at.proxy.cutNext(/^COMMIT/i, fault);
    const { logged, isDisabled } = await at.end(at.node, "failure", 2);
    await cut;
    expect({ logged, isDisabled }).toMatchObject({ logged: { failure: { streak: 5 } }, isDisabled: true });
    expect(await at.disablings()).toEqual([disabled]);
    expect(await at.subscription()).toMatchObject({ status: "disabled", consecutiveFailures: 5 });
  });
}

test("a commit of a post and a failure is made once, though it is sent again while it is under way", async () => {
  await using at = await startDeliveries();
  const holder = new PostgresRows(at.url);
  await holder.column("BEGIN");
  await holder.column("SELECT id FROM channels FOR UPDATE");
  const posted = at.post("once");
  const ended = at.end(at.node, "failure", 1);
  const waits = (count: number) => async () => (await at.rows.column(waiting)).length === count;
  await until("the commit waits", waits(1));
  at.proxy.cut();
  await until("it waits a second time", waits(2));
  await holder[Symbol.asyncDispose]();
  await posted;
  expect((await ended).logged).toMatchObject({ seq: 1, failure: { streak: 4 } });
  expect(await at.rows.column("SELECT body FROM messages WHERE body = 'once'")).toHaveLength(1);
  expect(await at.subscription()).toMatchObject({ status: "active", consecutiveFailures: 4 });
});
