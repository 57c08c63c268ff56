import { afterEach, expect, setSystemTime, test } from "bun:test";
import { QueueClock } from "../../src/deliveries/queue-clock.ts";
import { insertAttempt } from "../../src/deliveries/attempt-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const hourMs = 3_600_000;

afterEach(() => {
  setSystemTime();
});

/** How far the clock is from the machine's as it was before anybody set it, in milliseconds. */
const startedAt = Date.now() - performance.now();
const offTrue = (clock: QueueClock) => clock.now() - startedAt - performance.now();

test("jobs stay due when the system clock is set back, and waits do not get longer", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const clock = await QueueClock.start(workspace.database);
  expect(offTrue(clock)).toBeWithin(-50, 50);
  setSystemTime(new Date(Date.now() - hourMs));
  expect(offTrue(clock)).toBeWithin(-50, 50);
});

test("jobs become due earlier, never later, when the system clock is set forward", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const clock = await QueueClock.start(workspace.database);
  setSystemTime(new Date(Date.now() + hourMs));
  expect(offTrue(clock)).toBeWithin(hourMs - 50, hourMs + 50);
  setSystemTime();
  expect(offTrue(clock)).toBeWithin(hourMs - 50, hourMs + 50);
});

test("a retry waits no longer when the system clock is set back between two starts", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const attempt = {
    id: Bun.randomUUIDv7(),
    subscriptionId: "ci",
    eventSeq: 1,
    eventId: "1",
    eventType: "message.created",
    succeeded: false,
    isReplay: false,
    responseStatus: 500,
    responseStart: null,
    error: null,
    durationMs: 1,
    createdAt: Date.now() + hourMs,
  } as const;
  await database.write((tx) => insertAttempt(tx, attempt));
  const before = performance.now();
  const now = (await QueueClock.start(database)).now();
  expect(now - attempt.createdAt).toBeWithin(0, performance.now() - before + 2);
});

test("the next start also makes up for a clock that went forward and back", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const clock = await QueueClock.start(database);
  setSystemTime(new Date(Date.now() + hourMs));
  clock.now();
  setSystemTime();
  const aheadMs = clock.now() - Date.now();
  await database.write((tx) => clock.keep(tx, aheadMs));
  expect(offTrue(await QueueClock.start(database))).toBeWithin(hourMs - 50, hourMs + 50);
});
