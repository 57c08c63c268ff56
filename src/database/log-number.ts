import type { Database as SqliteFile } from "bun:sqlite";
import { randomInt } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename } from "node:path";
import { DomainError } from "../errors.ts";

// SQLite replays a log of changes (`parley.db-wal`) into whatever database file lies beside it. So that a log is known
// for another file's, or for that of another state of the same file, every log has a number: it is written into the
// database's first page (as its user_version) by each log that is begun, and gets into the file with all that the log
// holds. A file belongs to a log if its number is one that the log holds, or the one before the first of these.
// The first number is random, so that two databases do not count alike.

const databaseHeaderBytes = 100;
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
/** Where the number stands in the first page. */
const numberAt = 60;
const magicOfLogs = new Set([0x377f0682, 0x377f0683]);

type NumberRow = { user_version: number };

/** Gives a database of before there were numbers its first one. That takes two commits, so that its log has the 0 too. */
export function beginNumbers(file: SqliteFile): void {
  if (numberOf(file) !== 0) return;
  try {
    file.run("PRAGMA user_version = 0");
    file.run(`PRAGMA user_version = ${randomInt(1, 2 ** 31)}`);
  } catch {
    // Where nothing can be written now, which reading does not mind, it is tried again at the next start.
  }
}

/** Gives the log its number, in the transaction that is open. */
export function countLog(file: SqliteFile): void {
  file.run(`PRAGMA user_version = ${after(numberOf(file))}`);
}

/**
 * Refuses a log that was not made for this state of the database file. To be called before the file is opened: that
 * brings the log in, and closing what this opens would take SQLite's locks of this process away.
 * @throws DomainError `data_damaged` when they do not belong together.
 */
export function requireOwnLog(path: string): void {
  // Who runs on the files may have begun two logs in the middle of a look.
  for (let tries = 3; isForeign(path); tries--) {
    if (tries === 0) throw foreignLog(path);
    Bun.sleepSync(20);
  }
}

function isForeign(path: string): boolean {
  using database = openIfThere(path);
  using log = openIfThere(`${path}-wal`);
  if (!database || !log) return false;
  const number = numberInFile(database);
  const numbers = numbersIn(log);
  // Without a number there is nothing that would be replayed, or nothing is known of what would be.
  if (number === undefined || numbers.length === 0) return false;
  return !numbers.includes(number) && numbers[0] !== after(number);
}

/** The start of a database file that tells one state of it from another. */
export function headerOf(descriptor: number): Buffer | undefined {
  return fileOf(descriptor).read(0, databaseHeaderBytes);
}

/** Whether the log beside the database file has written this header there, or will. */
export function isHeaderInLog(path: string, header: Buffer): boolean {
  using log = openIfThere(`${path}-wal`);
  return log !== undefined && [...headersIn(log)].some((one) => one.equals(header));
}

function numberInFile(database: OpenedFile): number | undefined {
  return database.read(0, databaseHeaderBytes)?.readInt32BE(numberAt);
}

/** The numbers in a log, in their order. */
function numbersIn(log: OpenedFile): number[] {
  return [...headersIn(log)].map((header) => header.readInt32BE(numberAt));
}

/** The starts of the first pages in a log, in their order. What an earlier log has left behind its end has another salt. */
function* headersIn(log: OpenedFile): Generator<Buffer> {
  const start = log.read(0, logHeaderBytes);
  if (!start || !magicOfLogs.has(start.readUInt32BE(0))) return;
  const pageBytes = start.readUInt32BE(8);
  const salt = start.subarray(16, 24);
  for (let at = logHeaderBytes; ; at += frameHeaderBytes + pageBytes) {
    const frame = log.read(at, frameHeaderBytes + databaseHeaderBytes);
    if (!frame?.subarray(8, 16).equals(salt)) return;
    if (frame.readUInt32BE(0) === 1) yield frame.subarray(frameHeaderBytes);
  }
}

function numberOf(file: SqliteFile): number {
  return file.query<NumberRow, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

/** The next number; zero is that of a database which has none. */
function after(number: number): number {
  return (number + 1) | 0 || 1;
}

/** `read` returns so many bytes from there, or undefined where there are fewer. */
type OpenedFile = { read(at: number, length: number): Buffer | undefined };

function fileOf(descriptor: number): OpenedFile {
  return {
    read(at, length) {
      const bytes = Buffer.alloc(length);
      return readSync(descriptor, bytes, 0, length, at) === length ? bytes : undefined;
    },
  };
}

/** The file for reading, or undefined when there is none. */
function openIfThere(path: string): (OpenedFile & Disposable) | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  const opened = openSync(path, "r");
  return { ...fileOf(opened), [Symbol.dispose]: () => closeSync(opened) };
}

function foreignLog(path: string): DomainError {
  const log = basename(`${path}-wal`);
  return new DomainError(
    "data_damaged",
    `${path} is not the file that ${log} beside it was written for, as when a copy is put back and the log of before is ` +
      `left there. Put back the ${basename(path)} that belongs to it; or, to go on with this one as it is, without the ` +
      `changes that are in the log, move ${log} away.`,
  );
}
