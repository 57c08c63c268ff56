import { Database as SqliteFile } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { join } from "node:path";
import { getChannel } from "../../src/channels/channels.ts";
import type { Database, Writing } from "../../src/database/open.ts";
import * as schema from "../../src/database/schema.ts";
import { deleteMessage, editMessage, getMessage, postMessage } from "../../src/messages/messages.ts";
import { listMessages } from "../../src/messages/pages.ts";
import { addReaction, removeReaction } from "../../src/reactions/reactions.ts";
import type { Subject } from "../../src/subject.ts";
import { authenticate } from "../../src/tokens/tokens.ts";
import { subjectOf } from "../../src/users/users.ts";
import { type Cast, seedCast } from "../support/cast.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace, type Workspace } from "../support/workspace.ts";

/**
 * What runs for every request must cost the same in a workspace of any size. These tests run the real operations on a
 * connection that notes each statement, and ask SQLite how it carries each one out.
 */
type Noted = { sql: string; params: unknown[] };

const folder = temporaryFolder();
let workspace: Workspace;
let cast: Cast;
let subject: Subject;
let file: SqliteFile;
let noted: Noted[] = [];
let tx: Writing;

beforeAll(async () => {
  workspace = openWorkspace(folder.path);
  cast = await seedCast(workspace);
  subject = subjectOf(cast.bot);
  file = new SqliteFile(join(folder.path, "parley.db"), { strict: true });
  const logger = { logQuery: (sql: string, params: unknown[]) => void noted.push({ sql, params }) };
  tx = Object.assign(drizzle(file, { schema, logger }), { woken: new Set<string>() });
});

afterAll(async () => {
  file.close();
  await workspace[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The statements that the operation runs, each with the steps in which SQLite carries it out. */
async function plansOf(operation: () => Promise<unknown>): Promise<Array<{ sql: string; steps: string[] }>> {
  noted = [];
  await operation();
  return noted.map(({ sql, params }) => {
    const explained = file.query<{ detail: string }, never[]>(`EXPLAIN QUERY PLAN ${sql}`);
    return { sql, steps: explained.all(...(params as never[])).map(({ detail }) => detail) };
  });
}

/** Fails on a statement that goes through a table, sorts what it found, skips rows or counts them. */
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
    const database: Database = {
      ...workspace.database,
      read: tx,
      write: (change) => change(tx),
    };
    await expectFlatCost(async () => expect(await authenticate(database, token)).toBeDefined());
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
    const { id } = await post({});
    await expectFlatCost(() => post({ client_uuid, reply_to_id: id, thread_root_id: id }));
    await expectFlatCost(() => post({ client_uuid, reply_to_id: id, thread_root_id: id }));
  });

  test("when a message is read, reacted to, edited and deleted", async () => {
    const { id } = await postMessage(tx, subject, cast.open.id, { body: "hello" });
    await expectFlatCost(() => getMessage(tx, subject, cast.open.id, id));
    await expectFlatCost(() => addReaction(tx, subject, cast.open.id, id, "👍"));
    await expectFlatCost(() => removeReaction(tx, subject, cast.open.id, id, "👍"));
    await expectFlatCost(() => editMessage(tx, subject, cast.open.id, id, { body: "goodbye" }));
    await expectFlatCost(() => deleteMessage(tx, subject, cast.open.id, id));
  });
});

test("a statement that goes through a table is found out", async () => {
  const operation = async () => await tx.select().from(schema.messages).orderBy(schema.messages.body);
  const [plan] = await plansOf(operation);
  expect(plan?.steps.join("; ")).toMatch(/SCAN.*TEMP B-TREE/);
});
