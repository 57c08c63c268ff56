import { Database as SqliteFile } from "bun:sqlite";
import { createHash } from "node:crypto";
import { closeSync, existsSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { DomainError } from "../errors.ts";
import { freeBytes } from "../system/disk-space.ts";
import { type CommittedPages, readCommittedPages, readLogHeader } from "./snapshot-log.ts";
import { requireOwnLog } from "./wal-number.ts";

/** How much is copied at a time, in bytes. */
const chunkBytes = 1024 * 1024;

/** How much is written between two flushes, so that the last one does not hold up the flushes of a server. */
const flushedBytes = chunkBytes;

/** How often a copy begins anew because the write-ahead log did. */
const triesMax = 20;

/** The write-ahead log grows while a copy is made; past this, or past the database's own size, the copy gives up. */
const logBytesMax = 1024 * 1024 * 1024;

/** The free space of the data folder's disk, in bytes, below which a copy gives up. */
const freeBytesMin = 64 * 1024 * 1024;

/** The pages in the write-ahead log that a checkpoint may leave to the server. */
const pagesLeft = 2_000;

export type Copied = {
  bytes: number;
  /** Of the copy, in hex. */
  sha256: string;
};

/** An open file, readable and writable, and where in it the copy begins. */
type Target = { descriptor: number; offset: number };

/** How a copy is made. */
export type Copying = {
  /** Told how many bytes are copied, of how many. */
  onProgress?: (done: number, total: number) => void;
  /** Ends the copy with its reason. */
  signal?: AbortSignal;
  /** After each chunk the copy rests for this multiple of the time that the chunk took; 0 unless given. */
  restFactor?: number;
};

/**
 * Copies the database, as it is at one moment, into an open file from `offset` on, while other processes go on writing.
 *
 * SQLite has no call for this that fits: its online backup begins anew whenever another process writes, and VACUUM INTO
 * cannot be slowed down or given up. So the files themselves are copied, while a read transaction keeps SQLite from
 * overwriting what the copy needs: the pages that the write-ahead log holds, then all others from the database file. A
 * checkpoint may write to the file meanwhile, but only pages that came from the log.
 *
 * The log cannot begin anew during the copy, so it grows; the copy gives up before that fills the disk, and copies the
 * log into the database afterwards so that no server has to do so between two requests. `describe` is run in the read
 * transaction. Call this in a process that has the database open nowhere else, since the end of it releases SQLite's
 * locks of the whole process.
 * @throws DomainError `data_damaged` for a log of another database; `unwritable` when the copy gives up; the signal's
 *   reason; SQLite's or the system's error.
 */
export async function copyDatabase<Described>(
  path: string,
  target: Target,
  describe: (file: SqliteFile) => Described,
  copying: Copying = {},
): Promise<Copied & { described: Described }> {
  const steps = copySteps(path, target, describe, copying);
  while (true) {
    const { done, value } = steps.next();
    if (done) return value;
    await Bun.sleep(value);
  }
}

/** Copies the database in the same way, without resting. */
export function copyDatabaseAtOnce(path: string, target: Target, copying: Copying = {}): Copied {
  const steps = copySteps(path, target, () => undefined, copying);
  while (true) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Yields after each chunk for how many milliseconds to rest. */
function* copySteps<Described>(
  path: string,
  target: Target,
  describe: (file: SqliteFile) => Described,
  copying: Copying,
): Generator<number, Copied & { described: Described }> {
  requireOwnLog(path);
  // Closed after SQLite's own descriptors, because a close releases the locks of the process.
  using opened = new DisposableStack();
  using file = new SqliteFile(path, { readwrite: true, strict: true });
  file.run("PRAGMA busy_timeout = 5000");
  const { page_size: pageBytes } = file.query<{ page_size: number }, []>("PRAGMA page_size").get() ?? {
    page_size: 4096,
  };
  for (let tries = 0; tries < triesMax; tries++) {
    file.run("BEGIN");
    try {
      // The transaction begins with the first read.
      file.query("SELECT count(*) FROM sqlite_schema").get();
      const described = describe(file);
      const pages = opened.use(new Pages(path, file, pageBytes));
      if (!pages.copyFromLog(target)) continue;
      const copied = yield* copyFromFile(pages, target, path, copying);
      return { ...copied, described };
    } finally {
      file.run("COMMIT");
      checkpointAll(file);
    }
  }
  throw new DomainError("busy", "The database changed too fast to be copied; try again in a moment.");
}

/** The pages of the database as the read transaction keeps them. */
class Pages implements Disposable {
  readonly descriptor: number;
  readonly count: number;
  readonly bytes: number;
  readonly #log: number | undefined;
  readonly #committed: CommittedPages | undefined;

  /** Call this in the read transaction. */
  constructor(path: string, file: SqliteFile, bytes: number) {
    this.bytes = bytes;
    this.descriptor = openSync(path, "r");
    // A database in another journal mode has none.
    this.#log = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, "r") : undefined;
    this.#committed = this.#log === undefined ? undefined : readCommittedPages(this.#log);
    const { page_count: count } = file.query<{ page_count: number }, []>("PRAGMA page_count").get() ?? {
      page_count: 0,
    };
    this.count = this.#committed?.pageCount ?? count;
  }

  /**
   * Copies the pages in the log. Returns false if it began anew meanwhile: what was read may be of two states. That
   * happens only if the file held everything at the start; then nothing is written to it before the end.
   */
  copyFromLog({ descriptor, offset }: Target): boolean {
    if (this.#log === undefined || !this.#committed) return true;
    const page = Buffer.alloc(this.bytes);
    for (const [number, at] of this.#committed.offsets) {
      if (number > this.count) continue;
      readSync(this.#log, page, 0, this.bytes, at);
      writeFully(descriptor, page, offset + (number - 1) * this.bytes);
    }
    return readLogHeader(this.#log)?.equals(this.#committed.header) === true;
  }

  /** Whether the page, numbered from 1, was copied from the log. */
  isFromLog(number: number): boolean {
    return this.#committed?.offsets.has(number) === true;
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
    if (this.#log !== undefined) closeSync(this.#log);
  }
}

function* copyFromFile(
  pages: Pages,
  { descriptor, offset }: Target,
  path: string,
  { onProgress, signal, restFactor = 0 }: Copying,
): Generator<number, Copied> {
  const total = pages.count * pages.bytes;
  const sha256 = createHash("sha256");
  const chunk = Buffer.alloc(chunkBytes);
  let unflushed = 0;
  for (let at = 0; at < total; at += chunk.length) {
    signal?.throwIfAborted();
    const startedAt = performance.now();
    const part = chunk.subarray(0, Math.min(chunk.length, total - at));
    part.fill(0);
    // The file ends early if its last pages are in the log only.
    readSync(pages.descriptor, part, 0, part.length, at);
    for (let within = 0; within < part.length; within += pages.bytes) {
      if (!pages.isFromLog((at + within) / pages.bytes + 1)) continue;
      readSync(descriptor, part, within, pages.bytes, offset + at + within);
    }
    writeFully(descriptor, part, offset + at);
    sha256.update(part);
    unflushed += part.length;
    if (unflushed >= flushedBytes) {
      fdatasyncSync(descriptor);
      unflushed = 0;
      requireRoom(path, total);
    }
    onProgress?.(at + part.length, total);
    yield (performance.now() - startedAt) * restFactor;
  }
  return { bytes: total, sha256: sha256.digest("hex") };
}

/** Writes all of the bytes at the offset. */
export function writeFully(descriptor: number, bytes: Uint8Array, offset: number): void {
  for (let written = 0; written < bytes.length;)
    written += writeSync(descriptor, bytes, written, bytes.length - written, offset + written);
}

function requireRoom(path: string, databaseBytes: number): void {
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const hasRoom = logBytes <= Math.max(logBytesMax, databaseBytes) && freeBytes(path) >= freeBytesMin;
  if (hasRoom) return;
  throw new DomainError(
    "unwritable",
    `The copy was given up: ${path}-wal grows for as long as it takes, and was about to fill the disk. Make room, or ` +
      "copy to a faster disk or at a quieter time.",
  );
}

/** Copies what the log has gathered into the database file, without holding up anybody who writes. */
function checkpointAll(file: SqliteFile): void {
  const checkpoint = file.query<{ busy: number; log: number; checkpointed: number }, []>(
    "PRAGMA wal_checkpoint(PASSIVE)",
  );
  for (let tries = 0; tries < triesMax; tries++) {
    const { busy, log, checkpointed } = checkpoint.get() ?? { busy: 1, log: 0, checkpointed: 0 };
    if (busy !== 0 || log - checkpointed < pagesLeft) return;
  }
}
