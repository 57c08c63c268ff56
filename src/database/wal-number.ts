import type { Database as SqliteFile } from "bun:sqlite";
import { randomInt } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename } from "node:path";
import { DomainError } from "../errors.ts";

// SQLite replays a WAL (`parley.db-wal`) into whatever database file it finds next to it. To detect a WAL that belongs
// to another file, or to another state of the same file, each WAL has a number. The first transaction of a WAL writes
// the number into the database's first page (as its user_version); a checkpoint copies it into the file together with
// everything else in the WAL. A file matches a WAL if its number is one of those in the WAL, or the predecessor of the
// first of them. Numbering starts at random, so that two databases do not use the same numbers.

const databaseHeaderBytes = 100;
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
/** The offset of user_version in the first page (https://www.sqlite.org/fileformat2.html). */
const numberOffset = 60;
const walMagicNumbers = new Set([0x377f0682, 0x377f0683]);

type VersionRow = { user_version: number };

/**
 * Gives a database from before numbering its first number. This takes two commits, so that its WAL contains the 0 too.
 */
export function initializeLogNumber(file: SqliteFile): void {
  if (numberOf(file) !== 0) return;
  try {
    file.run("PRAGMA user_version = 0");
    file.run(`PRAGMA user_version = ${randomInt(1, 2 ** 31)}`);
  } catch {
    // Nothing can be written now. Reading works without a number, and the next start retries.
  }
}

/**
 * Writes the number after the committed one, which `reader` sees, inside the open transaction of `writer`. A second call
 * in one transaction changes nothing: a WAL that began two numbers later would not match its file.
 */
export function writeLogNumberAfter(reader: SqliteFile, writer: SqliteFile): void {
  writer.run(`PRAGMA user_version = ${nextNumber(numberOf(reader))}`);
}

/**
 * Rejects a WAL that was not written for this state of the database file. Call this before opening the database:
 * opening replays the WAL, and closing the descriptors used here would release the SQLite locks of this process.
 * @throws DomainError `data_damaged` when the WAL does not match the file.
 */
export function requireOwnLog(path: string): void {
  // A running process may have restarted the WAL twice during the check.
  for (let tries = 3; isForeign(path); tries--) {
    if (tries === 0) throw foreignLog(path);
    Bun.sleepSync(20);
  }
}

function isForeign(path: string): boolean {
  using database = openIfExists(path);
  using log = openIfExists(`${path}-wal`);
  if (!database || !log) return false;
  const number = numberInFile(database);
  const numbers = numbersIn(log);
  // Without a number there is nothing to replay, or no way to tell what would be replayed.
  if (number === undefined || numbers.length === 0) return false;
  return !numbers.includes(number) && numbers[0] !== nextNumber(number);
}

/** The database file's header, which differs between its states; undefined when the file is too short. */
export function headerOf(descriptor: number): Buffer | undefined {
  return fileOf(descriptor).read(0, databaseHeaderBytes);
}

/** Whether the WAL next to the database file contains this header: a checkpoint wrote it, or will. */
export function isHeaderInLog(path: string, header: Buffer): boolean {
  using log = openIfExists(`${path}-wal`);
  return log !== undefined && [...headersIn(log)].some((pageHeader) => pageHeader.equals(header));
}

function numberInFile(database: OpenedFile): number | undefined {
  return database.read(0, databaseHeaderBytes)?.readInt32BE(numberOffset);
}

/** The numbers in a WAL, in order. */
function numbersIn(log: OpenedFile): number[] {
  return [...headersIn(log)].map((pageHeader) => pageHeader.readInt32BE(numberOffset));
}

/**
 * The headers of the first page's versions in a WAL, in order. Frames left over from an earlier WAL have a different
 * salt.
 */
function* headersIn(log: OpenedFile): Generator<Buffer> {
  const header = log.read(0, logHeaderBytes);
  if (!header || !walMagicNumbers.has(header.readUInt32BE(0))) return;
  const pageBytes = header.readUInt32BE(8);
  const salt = header.subarray(16, 24);
  for (let at = logHeaderBytes; ; at += frameHeaderBytes + pageBytes) {
    const frame = log.read(at, frameHeaderBytes + databaseHeaderBytes);
    if (!frame?.subarray(8, 16).equals(salt)) return;
    if (frame.readUInt32BE(0) === 1) yield frame.subarray(frameHeaderBytes);
  }
}

function numberOf(file: SqliteFile): number {
  return file.query<VersionRow, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

/** The next number, skipping 0, which means that the database has none. */
function nextNumber(number: number): number {
  return (number + 1) | 0 || 1;
}

/** `read` returns `length` bytes from offset `at`, or undefined if there are fewer. */
type OpenedFile = { read(at: number, length: number): Buffer | undefined };

function fileOf(descriptor: number): OpenedFile {
  return {
    read(at, length) {
      const bytes = Buffer.alloc(length);
      return readSync(descriptor, bytes, 0, length, at) === length ? bytes : undefined;
    },
  };
}

/** Opens the file for reading; undefined when there is none. */
function openIfExists(path: string): (OpenedFile & Disposable) | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  const opened = openSync(path, "r");
  return { ...fileOf(opened), [Symbol.dispose]: () => closeSync(opened) };
}

function foreignLog(path: string): DomainError {
  const wal = basename(`${path}-wal`);
  return new DomainError(
    "data_damaged",
    `${path} is not the file that ${wal} next to it was written for, as when a backup is restored and the old log is ` +
      `left in place. Restore the ${basename(path)} that belongs to it; or, to continue with this one without the ` +
      `changes in the log, move ${wal} away.`,
  );
}
