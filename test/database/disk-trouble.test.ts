import { Database as SqliteFile } from "bun:sqlite";
import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { join } from "node:path";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import type { Trouble } from "../../src/database/disk-trouble.ts";
import { until } from "../support/conditions.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A limit for what takes a second or two on a busy machine. */

/** A separate database with a table for large data, and the reports that its owner received. */
async function open(options: { lockWaitMs?: number } = {}) {
  const folder = temporaryFolder();
  const path = join(folder.path, "parley.db");
  const database = openDatabase(path, options);
  const began: Trouble[] = [];
  const ended: Trouble[] = [];
  database.onTrouble({
    onTrouble: (trouble) => began.push(trouble),
    onEnd: (trouble) => ended.push(trouble),
  });
  await database.write((tx) => tx.run(sql`CREATE TABLE ballast (bytes blob)`));
  return {
    path,
    database,
    began,
    ended,
    [Symbol.asyncDispose]: async () => {
      await database.close();
      folder[Symbol.dispose]();
    },
  };
}

async function add(database: Database, bytes: number): Promise<void> {
  await database.write((tx) => tx.run(sql`INSERT INTO ballast VALUES (zeroblob(${bytes}))`));
}

async function limitPages(database: Database, pages: number): Promise<void> {
  await database.write((tx) => tx.run(sql.raw(`PRAGMA max_page_count = ${pages}`)));
}

test("a full disk is reported with its cause and remedy, and its end is reported although nobody writes", async () => {
  await using store = await open();
  const { database, began, ended } = store;
  expect(database.failure()).toBeUndefined();
  await limitPages(database, 1);
  const refusals = await Promise.allSettled([add(database, 1_000_000), add(database, 1_000_000)]);
  for (const refusal of refusals) {
    expect(refusal).toMatchObject({
      status: "rejected",
      reason: {
        code: "unwritable",
        message:
          "The disk is full. Nothing was saved; make room on the disk of the data folder and try again.",
        cause: { code: "SQLITE_FULL" },
      },
    });
  }
  expect(database.failure()).toMatch(/^The disk is full: nothing can be written since 20.*\+00:00\.$/);
  expect(began).toEqual([expect.objectContaining({ kind: "writes", reason: database.failure() })]);

  await limitPages(database, 1_000_000);
  await until("it is over", () => database.failure() === undefined);
  expect(ended).toEqual(began);
});

test("a change that is rejected for its content is not reported as trouble with the disk", async () => {
  await using store = await open();
  const change = store.database.write((tx) => tx.run(sql`INSERT INTO nothing VALUES (1)`));
  expect(await change.catch(String)).toContain("nothing");
  expect(store.database.failure()).toBeUndefined();
});

test("another process that holds the lock is reported while it does", async () => {
  await using store = await open({ lockWaitMs: 20 });
  const { database } = store;
  using other = new SqliteFile(store.path);
  other.run("BEGIN IMMEDIATE");
  expect(await add(database, 1).catch((error: unknown) => error)).toMatchObject({ code: "busy" });
  expect(database.failure()).toMatch(/^Another process keeps the database locked: /);
  other.run("COMMIT");
  await until("it is over", () => database.failure() === undefined);
});

test("a long reader is reported as the reason for a growing WAL, and is not a failure", async () => {
  await using store = await open();
  const { database, began, ended } = store;
  using other = new SqliteFile(store.path, { readonly: true });
  other.run("BEGIN");
  other.query("SELECT count(*) FROM ballast").get();
  await add(database, 20_000_000);
  await until("it is reported", async () => {
    await add(database, 1);
    return began.length > 0;
  });
  expect(began).toMatchObject([
    {
      kind: "reader",
      reason: expect.stringMatching(
        /^A process has been reading .* parley\.db-wal has grown to \d+ MiB\.$/,
      ) as string,
    },
  ]);
  expect(database.failure()).toBeUndefined();
  other.run("COMMIT");
  await until("it is over", () => ended.length > 0);
  expect(ended).toEqual(began);
});
