import type { Database as SqliteFile, SQLQueryBindings } from "bun:sqlite";
import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { NewEvent, NewMessage, QueueLead, SettledJob, TokenUse } from "./appended.ts";
import type { Commit } from "./commit.ts";
import { attempts, events, jobs, messages } from "./schema.ts";
import { streakChanges, takeStreaks } from "./streaks.ts";
import { type InsertedRow, insertedColumns } from "./table-sql.ts";

/**
 * Returns a function that writes what the calls of the commit have put down so far (`Appended`). Subscriptions whose
 * jobs it queues are added to those with new work.
 */
export function writerOfAppended(file: SqliteFile): (commit: Commit) => void {
  const writeMessages = messageWriter(file);
  const writeEvents = eventWriter(file);
  const writeSettled = settledWriter(file);
  const writeTokenUses = tokenUseWriter(file);
  const writeQueueLeads = queueLeadWriter(file);

  return (commit) => {
    const { appended } = commit;
    if (appended.isEmpty) return;
    const hasChanged = commit.hasChanged || appended.hasRowsOfCall;
    // If this fails halfway, all calls of the commit run again.
    commit.hasChanged = true;
    const rows = appended.takeAll();
    writeMessages(rows.messages);
    writeEvents(rows.events, commit);
    writeSettled(rows.settled);
    writeTokenUses(rows.tokenUses);
    writeQueueLeads(rows.queueLeads);
    commit.hasChanged = hasChanged;
  };
}

/** The file as a write sees it: each statement calls `writeOut` before it runs. */
export function writingOutFirst(file: SqliteFile, writeOut: () => void): SqliteFile {
  const first =
    <Parameters extends unknown[], Result>(run: (...parameters: Parameters) => Result) =>
    (...parameters: Parameters) => {
      writeOut();
      return run(...parameters);
    };
  const prepare = (text: string) => {
    const statement = file.prepare(text);
    for (const way of ["get", "all", "values", "run"] as const)
      Object.assign(statement, {
        [way]: first((statement[way] as (...parameters: unknown[]) => unknown).bind(statement)),
      });
    return statement;
  };
  const ways = new Map<PropertyKey, unknown>([
    ["prepare", prepare],
    ["query", prepare],
    ["run", first(file.run.bind(file))],
  ]);
  return new Proxy(file, {
    get(target, key) {
      const way = ways.get(key);
      if (way) return way;
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

function messageWriter(file: SqliteFile): (rows: NewMessage[]) => void {
  const takePositions = file.prepare<{ last: number }, [number, string]>(
    "UPDATE channels SET last_position = last_position + ? WHERE id = ? RETURNING last_position AS last",
  );
  // A row is written once, so it may be given its position where it is.
  const insert = inserter(file, messages, (row: NewMessage) => row as typeof messages.$inferSelect);
  return (rows) => {
    const counts = new Map<string, number>();
    for (const { channelId } of rows) counts.set(channelId, (counts.get(channelId) ?? 0) + 1);
    const next = new Map<string, number>();
    for (const [channelId, count] of counts) {
      const last = takePositions.get(count, channelId)?.last ?? 0;
      next.set(channelId, last - count + 1);
    }
    for (const row of rows as Array<typeof messages.$inferSelect>) {
      row.position = next.get(row.channelId) ?? 0;
      next.set(row.channelId, row.position + 1);
    }
    insert(rows);
  };
}

function eventWriter(file: SqliteFile): (added: NewEvent[], commit: Commit) => void {
  const insertEvents = inserter(file, events, ({ row }: NewEvent) => row);
  const insertJobs = inserter(file, jobs, (job: typeof jobs.$inferSelect) => job);
  return (added, { subscriptionsWithWork, subscriptionsToRead }) => {
    let seq = insertEvents(added) - added.length;
    const queued: Array<typeof jobs.$inferSelect> = [];
    for (const event of added) {
      event.seq = ++seq;
      for (const subscriptionId of event.subscriptionIds) {
        queued.push({ subscriptionId, dueAt: event.row.createdAt, eventSeq: seq, attempts: 0 });
        subscriptionsWithWork.add(subscriptionId);
      }
      for (const subscriptionId of event.readBy) subscriptionsToRead.add(subscriptionId);
    }
    insertJobs(queued);
  };
}

function settledWriter(file: SqliteFile): (settled: SettledJob[]) => void {
  const insert = inserter(file, attempts, ({ attempt }: SettledJob) => attempt);
  const thisJob = "subscription_id = ? AND due_at = ? AND event_seq = ?";
  const endJob = file.prepare<unknown, [string, number, number]>(`DELETE FROM jobs WHERE ${thisJob}`);
  const giveJobUp = file.prepare<unknown, [string, number, number, number]>(
    `DELETE FROM jobs WHERE ${thisJob} AND attempts = ?`,
  );
  const putJobOff = file.prepare<unknown, [number, string, number, number, number]>(
    `UPDATE jobs SET attempts = attempts + 1, due_at = ? WHERE ${thisJob} AND attempts = ?`,
  );
  const streakNow = file.prepare<{ streak: number }, [string]>(
    "SELECT consecutive_failures AS streak FROM subscriptions WHERE id = ?",
  );
  const setStreak = file.prepare<unknown, [number, number | null, string]>(
    "UPDATE subscriptions SET consecutive_failures = ?, last_success_at = coalesce(?, last_success_at) WHERE id = ?",
  );
  return (settled) => {
    let seq = insert(settled) - settled.length;
    for (const each of settled) {
      const { subscriptionId, dueAt, eventSeq } = each.job;
      const { failure } = each;
      each.seq = ++seq;
      if (!failure) endJob.run(subscriptionId, dueAt, eventSeq);
      else if (failure.nextDueAt === null)
        giveJobUp.run(subscriptionId, dueAt, eventSeq, failure.attemptsBefore);
      else putJobOff.run(failure.nextDueAt, subscriptionId, dueAt, eventSeq, failure.attemptsBefore);
    }
    const before = new Map<string, number>();
    for (const [id, { lastSuccessAt, failures, allFailures }] of streakChanges(settled)) {
      if (allFailures > 0) before.set(id, streakNow.get(id)?.streak ?? 0);
      setStreak.run(failures + (lastSuccessAt === null ? (before.get(id) ?? 0) : 0), lastSuccessAt, id);
    }
    takeStreaks(settled, before);
  };
}

function tokenUseWriter(file: SqliteFile): (uses: TokenUse[]) => void {
  const update = file.prepare<unknown, [number, string]>("UPDATE tokens SET last_used_at = ? WHERE id = ?");
  return (uses) => {
    const latest = new Map(uses.map(({ tokenId, at }) => [tokenId, at]));
    for (const [tokenId, at] of latest) update.run(at, tokenId);
  };
}

function queueLeadWriter(file: SqliteFile): (leads: QueueLead[]) => void {
  const update = file.prepare<unknown, [number, number, number]>(
    "UPDATE queue_clock SET ahead_ms = ? WHERE abs(ahead_ms - ?) > ?",
  );
  return (leads) => {
    const last = leads.at(-1);
    if (last) update.run(last.aheadMs, last.aheadMs, last.toleranceMs);
  };
}

/** How many rows one statement inserts, as long as there are as many left; more gain nothing. */
const rowsPerInsert = [16, 4, 1];

/**
 * Returns a function that inserts a row for each item and returns the last rowid. The rowids of an autoincremented
 * number follow one another.
 */
function inserter<Item, Table extends SQLiteTable>(
  file: SqliteFile,
  table: Table,
  rowOf: (item: Item) => InsertedRow<Table>,
): (items: readonly Item[]) => number {
  const columns = insertedColumns(table);
  const keys = columns.map(({ key }) => key as keyof InsertedRow<Table>);
  const names = columns.map(({ name }) => name).join(", ");
  const row = `(${columns.map(() => "?").join(", ")})`;
  const ways = rowsPerInsert.map((count) => ({
    count,
    statement: file.prepare<unknown, SQLQueryBindings>(
      `INSERT INTO ${getTableName(table)} (${names}) VALUES ${Array(count).fill(row).join(", ")}`,
    ),
    // One list for all runs: making another one for each would cost a quarter of the statement.
    values: Array<unknown>(count * columns.length).fill(null),
  }));
  return (items) => {
    let next = 0;
    let last: number | bigint = 0;
    for (const { count, statement, values } of ways) {
      for (; items.length - next >= count; next += count) {
        let place = 0;
        for (const item of items.slice(next, next + count)) {
          const inserted = rowOf(item);
          for (const key of keys) values[place++] = inserted[key];
        }
        last = statement.run(values as unknown as SQLQueryBindings).lastInsertRowid;
      }
    }
    return Number(last);
  };
}
