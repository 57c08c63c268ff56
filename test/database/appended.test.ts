import { expect, test } from "bun:test";
import { isNotNull } from "drizzle-orm";
import { selectLastPosition } from "../../src/channels/store.ts";
import type { Database, Transaction } from "../../src/database/database.ts";
import { messages, tokens } from "../../src/database/schema.ts";
import { appendMessage } from "../../src/messages/append.ts";
import { postMessage } from "../../src/messages/messages.ts";
import type { Message } from "../../src/messages/schemas.ts";
import { selectMessage, selectMessageRange } from "../../src/messages/store.ts";
import { selectJob, selectNextJobs } from "../../src/outbox/job-store.ts";
import { authenticate } from "../../src/tokens/tokens.ts";
import { subjectOf } from "../../src/users/users.ts";
import { type Cast, seedCast } from "../support/cast.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

/** What posts and deliveries put down is written at the end of their commit, or before somebody asks. */

type Stage = AsyncDisposable & {
  workspace: Workspace;
  database: Database;
  cast: Cast;
  /** Posts to the cast's open channel as its bot, and returns the message's id. */
  post: (tx: Transaction, body: string, clientUuid?: string) => string;
  /** The bodies of what was posted, in the channel's order, which must be dense. */
  posted: () => Promise<string[]>;
};

async function stage(): Promise<Stage> {
  const folder = temporaryFolder();
  const workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const cast = await seedCast(workspace);
  const before = await database.ask((db) => selectLastPosition(db, cast.open.id));
  return {
    workspace,
    database,
    cast,
    post: (tx, body, clientUuid) =>
      postMessage(tx, subjectOf(cast.bot), cast.open.id, { body, client_uuid: clientUuid ?? null }).id,
    async posted() {
      const { rows, last, dense } = await database.ask((db) => {
        const rows = selectMessageRange(db, cast.open.id, before + 1, before + 1_000).toReversed();
        const dense = selectMessageRange(db, cast.open.id, before + 1, before + rows.length);
        return { rows, last: selectLastPosition(db, cast.open.id), dense };
      });
      expect(last).toBe(before + rows.length);
      expect(dense).toHaveLength(rows.length);
      return rows.map(({ message }) => message.body);
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

function refuse(): never {
  throw new Error("on second thought");
}

test("messages posted in one commit are in the order of the calls, at positions without a gap", async () => {
  await using at = await stage();
  const bodies = Array.from({ length: 21 }, (_, nth) => `message ${nth}`);
  await Promise.all(bodies.map((body) => at.database.write((tx) => at.post(tx, body))));
  await at.database.write((tx) => [at.post(tx, "one more"), at.post(tx, "the last")]);
  expect(await at.posted()).toEqual([...bodies, "one more", "the last"]);
});

test("a call sees what it and those before it in the commit have posted", async () => {
  await using at = await stage();
  const { database, cast } = at;
  const first = database.write((tx) => at.post(tx, "one"));
  const second = database.write((tx) => {
    const own = at.post(tx, "two");
    return [own, selectMessage(tx, cast.open.id, own)?.message.body, selectLastPosition(tx, cast.open.id)];
  });
  const third = database.write(async (tx) => await tx.select({ body: messages.body }).from(messages));
  const last = await database.ask((db) => selectLastPosition(db, cast.open.id));
  const own = (await second)[0];
  expect(await second).toEqual([own, "two", last + 2]);
  expect((await third).map(({ body }) => body)).toContain("two");
  const id = await first;
  expect((await database.ask((db) => selectMessage(db, cast.open.id, id)))?.message.body).toBe("one");
  expect(await at.posted()).toEqual(["one", "two"]);
});

test("a call that throws after it has posted is undone alone, and the others of its commit run once", async () => {
  await using at = await stage();
  const subscription = await insertSubscriber(at.database, at.cast.teamId);
  let runs = 0;
  const results = await Promise.allSettled(
    ["one", "two", "three"].map((body) =>
      at.database.write((tx) => {
        runs++;
        at.post(tx, body);
        if (body === "two") refuse();
      }),
    ),
  );
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(runs).toBe(3);
  expect(await at.posted()).toEqual(["one", "three"]);
  expect(await at.database.ask((db) => selectNextJobs(db, subscription, 10))).toHaveLength(2);
});

test("a call that throws after a look at the commit is undone alone, whatever was written for that look", async () => {
  await using at = await stage();
  const look = (tx: Transaction) => selectLastPosition(tx, at.cast.open.id);
  // What is written for this look is of the call before.
  const first = at.database.write((tx) => at.post(tx, "one"));
  const undone = at.database.write((tx) => [look(tx), at.post(tx, "never"), refuse()]);
  expect((await Promise.allSettled([first, undone])).map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
  ]);
  expect(await at.posted()).toEqual(["one"]);

  const calls: Array<(tx: Transaction) => unknown> = [
    (tx) => at.post(tx, "two"),
    (tx) => [at.post(tx, "never"), look(tx), refuse()],
    async (tx) => [at.post(tx, "three"), await tx.select().from(messages), at.post(tx, "four")],
    (tx) => [at.post(tx, "never"), look(tx), at.post(tx, "never"), refuse()],
    (tx) => at.post(tx, "five"),
  ];
  const results = await Promise.allSettled(calls.map((call) => at.database.write(call)));
  const failed = results.flatMap(({ status }, nth) => (status === "rejected" ? [nth] : []));
  expect(failed).toEqual([1, 3]);
  expect(await at.posted()).toEqual(["one", "two", "three", "four", "five"]);
});

test("a row that the database refuses fails its own call only", async () => {
  await using at = await stage();
  const nowhere = { ...at.cast.open, id: Bun.randomUUIDv7() };
  const results = await Promise.allSettled([
    at.database.write((tx) => at.post(tx, "one")),
    at.database.write((tx) => appendMessage(tx, nowhere, at.cast.bot, { type: "standard", body: "lost" })),
    at.database.write((tx) => at.post(tx, "two")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await at.posted()).toEqual(["one", "two"]);
});

test("a client_uuid sent twice in one commit, and once more after it, is one message", async () => {
  await using at = await stage();
  const { database, cast } = at;
  const uuid = crypto.randomUUID();
  let runs = 0;
  const send = async () =>
    await database.write((tx) => {
      runs++;
      return at.post(tx, "hello", uuid);
    });
  const other = database.write(
    (tx) => postMessage(tx, subjectOf(cast.member), cast.open.id, { body: "mine", client_uuid: uuid }).id,
  );
  const ids = await Promise.all([send(), send(), send()]);
  ids.push(await send());
  expect(runs).toBe(4);
  expect(new Set(ids).size).toBe(1);
  expect(ids).not.toContain(await other);
  expect(await at.posted()).toEqual(["mine", "hello"]);
});

test("a client_uuid whose first message was undone is free again", async () => {
  await using at = await stage();
  const uuid = crypto.randomUUID();
  const results = await Promise.allSettled([
    at.database.write((tx) => [at.post(tx, "never", uuid), refuse()]),
    at.database.write((tx) => at.post(tx, "hello", uuid)),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect(await at.posted()).toEqual(["hello"]);
});

test("an event and its jobs are queued with their message, and the worker hears of them", async () => {
  await using at = await stage();
  const subscription = await insertSubscriber(at.database, at.cast.teamId);
  const heard: string[] = [];
  at.database.onWork((ids) => heard.push(...ids));
  const failed = at.database.write((tx) => [at.post(tx, "never"), refuse()]);
  await failed.catch(() => {});
  await at.database.write(() => "the listeners of the last commit have been called");
  expect(heard).toEqual([]);

  await Promise.all(["one", "two"].map((body) => at.database.write((tx) => at.post(tx, body))));
  await at.database.write(() => "the same");
  expect(heard).toEqual([subscription]);
  const envelopes = await at.database.ask((db) =>
    selectNextJobs(db, subscription, 10).map((job) =>
      selectJob(db, { subscriptionId: subscription, ...job }),
    ),
  );
  expect(envelopes.map((job) => (JSON.parse(job?.envelope ?? "") as { data: Message }).data.body)).toEqual([
    "one",
    "two",
  ]);
});

test("the last use of a token is stored, to the minute", async () => {
  await using at = await stage();
  const { token } = await at.workspace.token(at.cast.bot);
  const now = 1_700_000_012_345;
  expect(authenticate(at.database, token, now)).toBeDefined();
  await at.database.write(() => "behind the use, in its commit");
  const [used] = await at.database.ask((db) => db.select().from(tokens).where(isNotNull(tokens.lastUsedAt)));
  expect(used?.lastUsedAt).toBe(now - (now % 60_000));
});
