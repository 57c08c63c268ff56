import type { Database as SqliteFile, Statement } from "bun:sqlite";
import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { NewEvent, NewMessage, SettledJob, TokenUse } from "./appended.ts";
import type { Commit } from "./commit.ts";
import { attempts, events, jobs, messages } from "./schema.ts";
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

  return (commit) => {
    const { appended } = commit;
    if (appended.isEmpty) return;
    const hasChanged = commit.hasChanged || appended.hasRowsOfCall;
    // If this fails halfway, all calls of the commit run again.
    commit.hasChanged = true;
    const rows = appended.takeAll();
    writeMessages(rows.messages);
    writeEvents(rows.events, commit.subscriptionsWithWork);
    writeSettled(rows.settled);
    writeTokenUses(rows.tokenUses);
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
  const insert = inserter(file, messages);
  return (rows) => {
    const counts = new Map<string, number>();
    for (const { channelId } of rows) counts.set(channelId, (counts.get(channelId) ?? 0) + 1);
    const next = new Map<string, number>();
    for (const [channelId, count] of counts) {
      const last = takePositions.get(count, channelId)?.last ?? 0;
      next.set(channelId, last - count + 1);
    }
    insert(
      rows.map((row) => {
        const position = next.get(row.channelId) ?? 0;
        next.set(row.channelId, position + 1);
        return { ...row, position };
      }),
    );
  };
}

function eventWriter(file: SqliteFile): (rows: NewEvent[], subscriptionsWithWork: Set<string>) => void {
  const insertEvents = inserter(file, events);
  const insertJobs = inserter(file, jobs);
  return (added, subscriptionsWithWork) => {
    const seqs = insertEvents(added.map(({ row }) => row));
    const queued: Array<typeof jobs.$inferSelect> = [];
    for (const [index, event] of added.entries()) {
      const eventSeq = seqs[index] ?? 0;
      event.seq = eventSeq;
      for (const subscriptionId of event.subscriptionIds) {
        queued.push({ subscriptionId, dueAt: event.row.createdAt, eventSeq, attempts: 0 });
        subscriptionsWithWork.add(subscriptionId);
      }
    }
    insertJobs(queued);
  };
}

function settledWriter(file: SqliteFile): (rows: SettledJob[]) => void {
  const insert = inserter(file, attempts);
  const deleteJob = file.prepare<unknown, [string, number, number]>(
    "DELETE FROM jobs WHERE subscription_id = ? AND due_at = ? AND event_seq = ?",
  );
  const endStreak = file.prepare<unknown, [number, string]>(
    "UPDATE subscriptions SET consecutive_failures = 0, last_success_at = ? WHERE id = ?",
  );
  return (settled) => {
    const seqs = insert(settled.map(({ attempt }) => attempt));
    const successes = new Map<string, number>();
    for (const [index, entry] of settled.entries()) {
      const { subscriptionId, dueAt, eventSeq } = entry.job;
      entry.seq = seqs[index] ?? 0;
      deleteJob.run(subscriptionId, dueAt, eventSeq);
      successes.set(subscriptionId, entry.attempt.createdAt);
    }
    for (const [subscriptionId, at] of successes) endStreak.run(at, subscriptionId);
  };
}

function tokenUseWriter(file: SqliteFile): (uses: TokenUse[]) => void {
  const update = file.prepare<unknown, [number, string]>("UPDATE tokens SET last_used_at = ? WHERE id = ?");
  return (uses) => {
    const latest = new Map(uses.map(({ tokenId, at }) => [tokenId, at]));
    for (const [tokenId, at] of latest) update.run(at, tokenId);
  };
}

/** Rows of one statement: more gain nothing. */
const rowsPerInsert = 8;

/** Returns a function that inserts rows and returns their rowids. */
function inserter<Table extends SQLiteTable>(
  file: SqliteFile,
  table: Table,
): (rows: Array<InsertedRow<Table>>) => number[] {
  const columns = insertedColumns(table);
  const keys = columns.map(({ key }) => key as keyof InsertedRow<Table>);
  const names = columns.map(({ name }) => name).join(", ");
  const row = `(${columns.map(() => "?").join(", ")})`;
  const statementFor = (count: number): Statement =>
    file.prepare(`INSERT INTO ${getTableName(table)} (${names}) VALUES ${Array(count).fill(row).join(", ")}`);
  const one = statementFor(1);
  const several = statementFor(rowsPerInsert);
  return (rows) => {
    const rowids: number[] = [];
    for (let from = 0; from < rows.length;) {
      const count = rows.length - from < rowsPerInsert ? 1 : rowsPerInsert;
      const values: unknown[] = [];
      for (const inserted of rows.slice(from, from + count))
        for (const key of keys) values.push(inserted[key]);
      const statement = count === 1 ? one : several;
      const last = Number(statement.run(...(values as string[])).lastInsertRowid);
      for (let before = count - 1; before >= 0; before--) rowids.push(last - before);
      from += count;
    }
    return rowids;
  };
}
