import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Database } from "../../src/database/database.ts";
import { Horizon } from "../../src/feed/horizon.ts";
import { readPage } from "../../src/feed/page.ts";
import { findPlace } from "../../src/feed/place.ts";
import { appendMessage } from "../../src/messages/append.ts";
import { getSubscription } from "../../src/subscriptions/subscriptions.ts";
import { insertSubscriber } from "../support/subscriber.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";
import { notingConnection } from "./noting-connection.ts";

test("a page of a subscription's events costs the same at any place: it begins there and reads no more than it shows", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { id: teamId, owner, general } = await workspace.team("Acme");
  const id = await insertSubscriber(workspace.database, teamId);
  using connection = notingConnection(join(folder.path, "parley.db"));
  const { tx, file, noted } = connection;
  for (let nth = 0; nth < 5; nth++) appendMessage(tx, general, owner, { type: "standard", body: "hello" });
  connection.commit();

  const database: Database = { ...workspace.database, ask: (question) => question(tx) };
  const horizon = new Horizon(undefined, () => {});
  const read = async (cursor?: string) => {
    const subscription = await getSubscription(tx, teamId, id);
    noted.length = 0;
    const place = findPlace(tx, subscription, cursor);
    return (await readPage({ database, horizon }, subscription, place, 2)).page;
  };
  const first = await read();
  expect(first.data).toHaveLength(2);
  expect((await read(first.meta.next)).data).toHaveLength(2);
  for (const { sql, params } of noted) {
    expect(sql).not.toMatch(/\boffset\b|\bcount\(/i);
    const explained = file.query<{ detail: string }, never[]>(`EXPLAIN QUERY PLAN ${sql}`);
    const steps = explained.all(...(params as never[])).map(({ detail }) => detail);
    for (const step of steps) expect(step, sql).not.toMatch(/\bSCAN (?!CONSTANT)|TEMP B-TREE/);
    if (sql.includes("LIMIT"))
      expect(steps[0]).toBe("SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
  }
  expect(noted).toHaveLength(2);
});
