import { expect, test } from "bun:test";
import { openPostgres } from "../../src/database/postgres/open.ts";
import { AttemptFeed } from "../../src/deliveries/attempt-feed.ts";
import { Retention } from "../../src/deliveries/retention.ts";
import { settle } from "../../src/deliveries/settle.ts";
import { createLog } from "../../src/log/log.ts";
import { until } from "../support/conditions.ts";
import { DatabaseProxy } from "../support/database-proxy.ts";
import { startPair } from "../support/late-commits.ts";
import { Workspace } from "../support/workspace.ts";

const rules = { maxAttempts: 8, backoffBaseMs: 1_000, disableAfter: 100 };
const succeeded = {
  kind: "succeeded",
  status: 204,
  error: null,
  detail: null,
  responseStart: null,
  retryAfter: null,
  durationMs: 1,
} as const;

test("retention keeps an event that is committed while it runs, after those behind it", async () => {
  await using pair = await startPair();
  const { prompt, late, owner, general, other, rows } = pair;
  await using sweeping = await DatabaseProxy.start(Number(new URL(pair.url).port));
  await using own = new Workspace(await openPostgres(sweeping.through(pair.url)));
  await prompt.message(other, owner, "committed before");
  const commit = await pair.leaveOpen(() => late.message(general, owner, "committed late"));
  await prompt.message(other, owner, "committed in time");

  // A sweep that does not wait for the open commit is stopped where it has read the queue and not yet the events.
  let readQueue: (() => void) | undefined;
  const queueRead = sweeping.holdNext(/ FROM jobs\n/, "delayed").then((goOn) => (readQueue = goOn));
  const inAYear = Date.now() + 365 * 86_400_000;
  const sweep = new Retention(own.database, 30, createLog("silent")).sweep(inAYear);
  const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until("the sweep goes no further", async () => readQueue ?? (await rows.column(waiting)).length > 0);
  if (readQueue) {
    const eventsRead = sweeping.holdNext(/ from "events" /, "delayed");
    (readQueue as () => void)();
    const readEvents = await eventsRead;
    await commit();
    readEvents();
  } else {
    await commit();
    (await queueRead)();
  }
  await sweep;

  const events = await rows.column("SELECT seq FROM events");
  expect(events).toHaveLength(3);
  expect(await rows.column("SELECT DISTINCT event_seq FROM jobs")).toEqual(events);
});

test("following the log shows an attempt that is committed after the ones behind it, and each once", async () => {
  await using pair = await startPair();
  const { prompt, late, teamId, subscriptionIds } = pair;
  const end = async ({ database }: Workspace, subscriptionId: string, eventSeq: number) => {
    const job = {
      subscriptionId,
      eventSeq,
      dueAt: 1,
      attempts: 0,
      eventId: Bun.randomUUIDv7(),
      eventType: "message.created" as const,
      envelope: "{}",
      traceparent: null,
    };
    await database.write((tx) => settle(tx, job, succeeded, rules));
  };
  const feed = new AttemptFeed(prompt.database, teamId, { limit: 10 }, []);
  const places = async () => (await feed.next()).map(({ place }) => place);

  const commit = await pair.leaveOpen(() => end(late, subscriptionIds[0], 1));
  await end(prompt, subscriptionIds[1], 2);
  expect(await places()).toEqual([2]);
  await commit();
  expect(await places()).toEqual([1]);
  await end(prompt, subscriptionIds[1], 3);
  expect(await places()).toEqual([3]);
  expect(await places()).toEqual([]);
});
