import { type BigIntStats, closeSync, openSync, statSync } from "node:fs";
import { headerOf, isHeaderInLog } from "./wal-number.ts";

/**
 * How long an unexplained change to the database file may wait for an explanation by another process, in milliseconds.
 */
const doubtMs = 600;

/** How often to look while in doubt, in milliseconds. */
const doubtIntervalMs = 50;

/** The number of pages in the WAL, and how many of them have been copied into the database file. */
export type LogState = { log: number; checkpointed: number };

/** SQLite's record of what processes have done to the files. */
export type SqliteRecord = {
  log(): LogState;
  /** Changes with each commit of another connection, and when another connection resets the WAL. */
  foreignChanges(): number;
};

/** Why this process must stop using its files. */
export type Loss = {
  /** The path of the file that changed. */
  file: string;
  /** What happened to the file and what to do about it, in sentences. */
  reason: string;
  /** Whether `parley.db` is still the opened file, so that closing it checkpoints the WAL. */
  isDatabaseWhole: boolean;
};

type OpenFile = { path: string; identity: string };

const remedy =
  "Restore backups only while no parley is running, and remove the old parley.db-wal and parley.db-shm first.";

/**
 * The open files of a process, compared with the files at their paths. A process keeps writing to a file that was
 * replaced or removed, and nobody will ever read those writes. A file that is overwritten keeps its identity; but
 * SQLite writes to the database file only in a checkpoint and records it, no matter which process ran it. So a change
 * that SQLite's record does not explain was made by another program. A look takes a few microseconds; SQLite is asked
 * only if the file has changed.
 */
export class WatchedFiles {
  readonly #path: string;
  readonly #record: SqliteRecord;
  readonly #files: OpenFile[];
  #database: BigIntStats | undefined;
  #log: LogState;
  #isCheckpointedByOthers = false;
  #foreignChanges: number;
  #doubtedSince: number | undefined;
  /**
   * A descriptor of the database file, open for as long as SQLite has the file open: closing it would release SQLite's
   * locks.
   */
  readonly #descriptor: number;
  #isClosed = false;
  /** The header of the database file when its content was last accepted. */
  #header: Buffer | undefined;
  #loss: Loss | undefined;
  #listeners: Array<(loss: Loss) => void> = [];

  /** Assumes that the files at `path` are the ones that are open. */
  constructor(path: string, record: SqliteRecord) {
    this.#path = path;
    this.#record = record;
    this.#files = [path, `${path}-wal`, `${path}-shm`].map(openFile);
    this.#log = record.log();
    this.#foreignChanges = record.foreignChanges();
    this.#descriptor = openSync(path, "r");
    this.#accept(statOf(path));
  }

  /** Call this after SQLite has closed the files. */
  close(): void {
    if (!this.#isClosed) closeSync(this.#descriptor);
    this.#isClosed = true;
  }

  /** Also watches this file from now on. */
  add(path: string): void {
    this.#files.push(openFile(path));
  }

  /** Calls `listener` once, when a file is found to be lost. */
  onLost(listener: (loss: Loss) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether the database file must not be written for now: it is lost, or has changed in a way not explained yet. */
  get isInDoubt(): boolean {
    this.look();
    return this.#loss !== undefined || this.#doubtedSince !== undefined;
  }

  /**
   * Looks at the files. Returns the loss found now or earlier, or undefined if all files are unchanged. An unexplained
   * change becomes a loss only if it is still unexplained half a second later.
   */
  look(): Loss | undefined {
    if (this.#loss) return this.#loss;
    const loss = this.#findLoss();
    if (!loss) return undefined;
    this.#loss = loss;
    for (const listener of this.#listeners) listener(loss);
    return loss;
  }

  /** Looks until the files are either unchanged or lost, which takes half a second at most. */
  async lookUntilCertain(): Promise<Loss | undefined> {
    while (this.isInDoubt && !this.#loss) await Bun.sleep(doubtIntervalMs);
    return this.#loss;
  }

  /** Reads the state of the WAL. Call this after each commit of this process, which `foreignChanges` does not count. */
  readLog(): LogState {
    const now = this.#record.log();
    if (isCheckpointedBetween(this.#log, now)) this.#isCheckpointedByOthers = true;
    this.#log = now;
    return now;
  }

  /** Accepts the content of the database file that a checkpoint of this process has just written. */
  acceptOwnCheckpoint(): void {
    this.#log = this.#record.log();
    this.#accept(statOf(this.#path));
  }

  #findLoss(): Loss | undefined {
    try {
      return this.#findExchanged() ?? this.#findOverwritten();
    } catch (error) {
      // The folder is no longer accessible, or the disk does not respond: the state of the files is unknown.
      if (isSystemError(error)) return undefined;
      throw error;
    }
  }

  #findExchanged(): Loss | undefined {
    for (const { path, identity } of this.#files) {
      const now = statOf(path);
      if (identityOf(now) === identity) continue;
      const what = `${path} was ${now ? "replaced" : "removed"} under the running server.`;
      if (path === this.#path) return { file: path, reason: `${what} ${remedy}`, isDatabaseWhole: false };
      const isPart = path.startsWith(this.#path);
      const advice = isPart
        ? `It is part of ${this.#path}. ${remedy}`
        : "Restart the server; nothing is lost.";
      // An empty file is as good as none: a process that opened the database since has created it.
      const isGone = !now || now.size === 0n;
      return { file: path, reason: `${what} ${advice}`, isDatabaseWhole: !isPart || isGone };
    }
    return undefined;
  }

  #findOverwritten(): Loss | undefined {
    const now = statOf(this.#path);
    if (now?.mtimeNs === this.#database?.mtimeNs && now?.size === this.#database?.size) {
      this.#isCheckpointedByOthers = false;
      this.#doubtedSince = undefined;
      return undefined;
    }
    this.readLog();
    if (this.#isCheckpointedByOthers || this.#record.foreignChanges() !== this.#foreignChanges) {
      this.#accept(now);
      return undefined;
    }
    this.#doubtedSince ??= performance.now();
    if (performance.now() - this.#doubtedSince < doubtMs) return undefined;
    // Perhaps only its modification time was set. Or another process began a checkpoint, which starts with the first
    // page, and could not finish it because the disk is full or fails.
    const header = headerOf(this.#descriptor);
    if (header && (this.#header?.equals(header) || isHeaderInLog(this.#path, header))) {
      this.#accept(now);
      return undefined;
    }
    const reason = `${this.#path} was overwritten by another program under the running server. ${remedy}`;
    return { file: this.#path, reason, isDatabaseWhole: false };
  }

  #accept(database: BigIntStats | undefined): void {
    this.#database = database;
    this.#header = headerOf(this.#descriptor);
    this.#foreignChanges = this.#record.foreignChanges();
    this.#isCheckpointedByOthers = false;
    this.#doubtedSince = undefined;
  }
}

/**
 * Whether another process ran a checkpoint between the two readings. The next commit restarts a WAL that was copied
 * completely; one that was not is restarted only after another process has copied the rest.
 */
function isCheckpointedBetween(before: LogState, now: LogState): boolean {
  const isSameLog = now.log >= before.log && now.checkpointed >= before.checkpointed;
  if (isSameLog) return now.checkpointed > before.checkpointed;
  return now.checkpointed > 0 || before.checkpointed < before.log;
}

function openFile(path: string): OpenFile {
  return { path, identity: identityOf(statOf(path)) ?? "" };
}

/** Undefined when the file does not exist. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error) && error.code === "ENOTDIR") return undefined;
    throw error;
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function identityOf(stats: BigIntStats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}
