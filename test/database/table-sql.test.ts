import { expect, test } from "bun:test";
import { attempts } from "../../src/database/schema.ts";
import { columnsOf, insertInto } from "../../src/database/table-sql.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { openWorkspace } from "../support/workspace.ts";

const insert = insertInto(attempts);

const row = {
  id: "a",
  subscriptionId: "s",
  eventSeq: null,
  eventId: "e",
  eventType: "message.created",
  succeeded: false,
  isReplay: true,
  responseStatus: null,
  responseStart: Buffer.from([0, 255]),
  error: "?, $id and 'quotes'",
  durationMs: 3,
  createdAt: 1_700_000_000_000,
} as const;

test("a generated INSERT stores each value in its own column, in whichever order the row names them", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { database } = workspace;
  const other = { ...row, id: "b" };
  const reversed = Object.fromEntries(Object.entries(other).toReversed()) as typeof other;
  await database.write((tx) => [insert(tx, row), insert(tx, reversed)]);
  expect(await database.ask((db) => db.select().from(attempts))).toEqual([
    { ...row, seq: 1 },
    { ...other, seq: 2 },
  ]);
});

test("a generated INSERT refuses a row that lacks a column", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  const { error: _, ...incomplete } = row;
  await workspace.database.write((tx) => {
    expect(() => insert(tx, incomplete as typeof row)).toThrow('Missing parameter "error"');
  });
});

test("a generated SELECT names the columns as the schema does", async () => {
  using folder = temporaryFolder();
  await using workspace = await openWorkspace(folder.path);
  await workspace.database.write((tx) => insert(tx, row));
  const found = await workspace.database.ask(({ $client }) =>
    $client
      .prepare<Record<string, unknown>, []>(`SELECT ${columnsOf(attempts, "a")} FROM attempts AS a`)
      .get(),
  );
  const { responseStart, ...values } = found ?? {};
  expect(Buffer.from(responseStart as Uint8Array)).toEqual(row.responseStart);
  expect(values).toEqual({ ...row, responseStart: undefined, seq: 1, succeeded: 0, isReplay: 1 });
});
