import { type BigIntStats, closeSync, openSync, statSync } from "node:fs";
import { headerOf, isHeaderInLog } from "./log-number.ts";

/** How long another process may take to say that it has written into the database file, in milliseconds. */
const doubtMs = 600;

/** How soon to look again while in doubt, in milliseconds. */
const doubtLookMs = 50;

/** How many pages the log of changes holds, and how many of them the database file has by now. */
export type LogState = { log: number; checkpointed: number };

/** What SQLite tells of what processes have done to the files. */
export type Account = {
  log(): LogState;
  /** Another number after each commit of another connection, and whenever another one has emptied the log. */
  foreignChanges(): number;
};

/** Why this process must not go on with its files. */
export type Loss = {
  /** The path of the file that is not what it was. */
  file: string;
  /** What happened to it and what to do, in sentences. */
  reason: string;
  /** Whether `parley.db` itself is still the one that was opened, so that closing it brings the log in. */
  isDatabaseWhole: boolean;
};

type OpenFile = { path: string; identity: string };

const remedy =
  "Copies are put back while no parley runs, and without the parley.db-wal and parley.db-shm of before beside them.";

/**
 * The files that a process has open, held against those of the same names: a file that is replaced or removed is written
 * on without a name, and nobody ever reads it. What is written over it keeps its name; but SQLite writes into the
 * database file only when it brings the log in, and keeps an account of that, whichever process did it: what the account
 * does not explain was written by something else. A look costs a few microseconds, and SQLite is asked only where the
 * file has changed.
 */
export class OpenFiles {
  readonly #path: string;
  readonly #account: Account;
  readonly #files: OpenFile[];
  #database: BigIntStats | undefined;
  #log: LogState;
  #isBroughtInByOthers = false;
  #foreignChanges: number;
  #doubtedSince: number | undefined;
  /** Of the database file, and open for as long as SQLite has it: closing it would take SQLite's locks away. */
  readonly #descriptor: number;
  #isClosed = false;
  /** The start of the database file as it was when it was accepted last. */
  #header: Buffer | undefined;
  #loss: Loss | undefined;
  #listeners: Array<(loss: Loss) => void> = [];

  /** Takes the files at `path` for those that are open by now. */
  constructor(path: string, account: Account) {
    this.#path = path;
    this.#account = account;
    this.#files = [path, `${path}-wal`, `${path}-shm`].map(openFile);
    this.#log = account.log();
    this.#foreignChanges = account.foreignChanges();
    this.#descriptor = openSync(path, "r");
    this.#accept(statOf(path));
  }

  /** To be called after SQLite has closed the files. */
  close(): void {
    if (!this.#isClosed) closeSync(this.#descriptor);
    this.#isClosed = true;
  }

  /** Looks after one more file from now on. */
  add(path: string): void {
    this.#files.push(openFile(path));
  }

  /** Calls `listener` once, when a file is found to be lost. */
  onLost(listener: (loss: Loss) => void): void {
    this.#listeners.push(listener);
  }

  /** Whether the database file must be left alone for now: it is lost, or somebody writes to it. */
  get isInDoubt(): boolean {
    this.look();
    return this.#loss !== undefined || this.#doubtedSince !== undefined;
  }

  /**
   * Looks at the files. Returns what was found now or before, or undefined while each is what it was. Bytes that nobody
   * has accounted for are a loss only when they still are half a second later.
   */
  look(): Loss | undefined {
    if (this.#loss) return this.#loss;
    const loss = this.#findLoss();
    if (!loss) return undefined;
    this.#loss = loss;
    for (const tell of this.#listeners) tell(loss);
    return loss;
  }

  /** Looks until each file is what it was or one is lost, which takes half a second at the most. */
  async lookUntilCertain(): Promise<Loss | undefined> {
    while (this.isInDoubt && !this.#loss) await Bun.sleep(doubtLookMs);
    return this.#loss;
  }

  /** Asks how the log stands. To be called after each commit of this process, whose own changes nobody else explains. */
  askLog(): LogState {
    const now = this.#account.log();
    if (isBroughtInBetween(this.#log, now)) this.#isBroughtInByOthers = true;
    this.#log = now;
    return now;
  }

  /** Takes the database file for what this process has just made it, by bringing the log in. */
  acceptOwnWrite(): void {
    this.#log = this.#account.log();
    this.#accept(statOf(this.#path));
  }

  #findLoss(): Loss | undefined {
    try {
      return this.#exchanged() ?? this.#overwritten();
    } catch (error) {
      // A folder that may not be entered any more, a disk that does not answer: nothing is known of the files then.
      if (isSystemError(error)) return undefined;
      throw error;
    }
  }

  #exchanged(): Loss | undefined {
    for (const { path, identity } of this.#files) {
      const now = statOf(path);
      if (identityOf(now) === identity) continue;
      const what = `${path} was ${now ? "replaced" : "removed"} under the running server.`;
      if (path === this.#path) return { file: path, reason: `${what} ${remedy}`, isDatabaseWhole: false };
      const isPart = path.startsWith(this.#path);
      const advice = isPart ? `It is a part of ${this.#path}. ${remedy}` : "Start it again; nothing is lost.";
      // Whoever has opened the database since has made an empty one in its place.
      const isGone = !now || now.size === 0n;
      return { file: path, reason: `${what} ${advice}`, isDatabaseWhole: !isPart || isGone };
    }
    return undefined;
  }

  #overwritten(): Loss | undefined {
    const now = statOf(this.#path);
    if (now?.mtimeNs === this.#database?.mtimeNs && now?.size === this.#database?.size) {
      this.#isBroughtInByOthers = false;
      this.#doubtedSince = undefined;
      return undefined;
    }
    this.askLog();
    if (this.#isBroughtInByOthers || this.#account.foreignChanges() !== this.#foreignChanges) {
      this.#accept(now);
      return undefined;
    }
    this.#doubtedSince ??= performance.now();
    if (performance.now() - this.#doubtedSince < doubtMs) return undefined;
    // Its time alone may have been set. And where the disk is full or fails, another process may have begun to bring the
    // log in, which starts with the first page, and not got to the end.
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
    this.#foreignChanges = this.#account.foreignChanges();
    this.#isBroughtInByOthers = false;
    this.#doubtedSince = undefined;
  }
}

/**
 * Whether another process has brought the log into the database file between the two looks at it. One that is wholly in
 * the file is begun anew by the next commit; one that is not, only after somebody has brought the rest in.
 */
function isBroughtInBetween(before: LogState, now: LogState): boolean {
  const isTheSame = now.log >= before.log && now.checkpointed >= before.checkpointed;
  if (isTheSame) return now.checkpointed > before.checkpointed;
  return now.checkpointed > 0 || before.checkpointed < before.log;
}

function openFile(path: string): OpenFile {
  return { path, identity: identityOf(statOf(path)) ?? "" };
}

/** Undefined when there is no such file. */
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
