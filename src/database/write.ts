import type { Database as SqliteFile } from "bun:sqlite";
import { Commit } from "./commit.ts";
import type { Transaction } from "./database.ts";
import { explainWriteError, isBusy } from "./write-errors.ts";

type Call = {
  change: (tx: Transaction) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** What became of one call inside the open transaction; it is told only after the commit. */
type Ran = { call: Call } & ({ ok: true; value: unknown } | { ok: false; error: unknown });

/** So many calls share one commit at most: none of them waits for long behind the others. */
const callsPerCommit = 512;

/** How soon to try again for a lock that another process holds, in milliseconds. */
const lockRetryMs = 2;

/**
 * The only way to change data. SQLite has one writer at a time and a commit costs a disk flush, so calls queue up here
 * and those of one turn of the event loop share a transaction: while the disk is busy, the next ones gather.
 */
export class WriteQueue {
  readonly #file: SqliteFile;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #tx: Transaction;
  readonly #beforeCommit: () => void;
  readonly #afterCommit: () => void;
  readonly #afterAnswers: (commit: Commit) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #lockWaitMs: number;
  #waiting: Call[] = [];
  #isRunning = false;
  /** The last commit, while nobody but those who asked for its changes has heard of it. */
  #untold: Commit | undefined;
  #whenDrained: Array<() => void> = [];

  constructor(
    file: SqliteFile,
    tx: Transaction,
    options: {
      lockWaitMs: number;
      /** The last that is done in each transaction; where it throws, all of it is undone. */
      beforeCommit: () => void;
      /** Before anybody is told of the commit. */
      afterCommit: () => void;
      /** A turn of the event loop later, and before the next transaction. */
      afterAnswers: (commit: Commit) => void;
      /** Told of whatever made a commit or one of its calls fail. */
      onFailure: (error: unknown) => void;
    },
  ) {
    this.#file = file;
    this.#statements = prepareStatements(file);
    this.#tx = tx;
    this.#beforeCommit = options.beforeCommit;
    this.#afterCommit = options.afterCommit;
    this.#afterAnswers = options.afterAnswers;
    this.#onFailure = options.onFailure;
    this.#lockWaitMs = options.lockWaitMs;
  }

  /** See `Database.write`. */
  write<T>(change: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ change, resolve: resolve as (value: unknown) => void, reject });
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#runSoon();
    }
    return promise;
  }

  /** Resolves when no write is waiting or under way. */
  drained(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  // A macrotask, so that every request that the event loop has at hand joins the batch. Bun says nothing of a rejection
  // that comes from one, and a queue that stands still must not go unnoticed.
  #runSoon(): void {
    setImmediate(() => void this.#run().catch(reportError));
  }

  async #run(): Promise<void> {
    this.#tellOfCommit();
    await this.#gather();
    const batch = this.#waiting.slice(0, callsPerCommit);
    this.#waiting = this.#waiting.slice(callsPerCommit);
    try {
      if (batch.length > 0) await this.#commitTogether(batch);
    } finally {
      this.#goOn();
    }
  }

  // A turn after the commit: bringing in the log and beginning deliveries take milliseconds, and the answers, which are
  // waited for, go out before. A fault of whoever listens is reported on its own: the change is made, and the next ones wait
  // to be.
  #tellOfCommit(): void {
    const commit = this.#untold;
    if (!commit) return;
    this.#untold = undefined;
    try {
      this.#afterAnswers(commit);
    } catch (error) {
      reportError(error);
    }
  }

  // Those who were answered after the last commit send their next requests over the next few turns: as long as each turn
  // brings more, what one commit costs is shared by more.
  async #gather(): Promise<void> {
    let gathered = 0;
    while (this.#waiting.length > gathered && this.#waiting.length < callsPerCommit) {
      gathered = this.#waiting.length;
      await turn();
    }
  }

  #goOn(): void {
    if (this.#waiting.length > 0 || this.#untold) return this.#runSoon();
    this.#isRunning = false;
    for (const tell of this.#whenDrained.splice(0)) tell();
  }

  async #commitTogether(batch: Call[]): Promise<void> {
    let ran: Ran[];
    try {
      await this.#begin();
      ran = (await this.#runTogether(batch)) ?? (await this.#runApart(batch));
      this.#tx.commit.end();
      this.#beforeCommit();
      this.#statements.commit.run();
    } catch (error) {
      const reason = this.#failed(error);
      for (const { reject } of batch) reject(reason);
      if (this.#file.inTransaction) this.#statements.rollBack.run();
      return;
    }
    this.#untold = this.#tx.commit;
    this.#afterCommit();
    for (const result of ran) {
      if (result.ok) result.call.resolve(result.value);
      else result.call.reject(this.#failed(result.error));
    }
  }

  /** What is to be said to whoever made the call. */
  #failed(error: unknown): unknown {
    this.#onFailure(error);
    return explainWriteError(error);
  }

  // Another process, a command, may hold the lock. Waiting inside SQLite would stop the event loop, and with it every
  // read and delivery.
  async #begin(): Promise<void> {
    const deadline = performance.now() + this.#lockWaitMs;
    while (true) {
      try {
        this.#statements.begin.run();
        this.#renew();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
      }
      await Bun.sleep(lockRetryMs);
    }
  }

  /** Runs the calls without a savepoint for each. Undefined when one threw after it had changed something. */
  async #runTogether(batch: Call[]): Promise<Ran[] | undefined> {
    const ran: Ran[] = [];
    const { commit } = this.#tx;
    for (const call of batch) {
      commit.hasChanged = false;
      try {
        const value = call.change(this.#tx);
        ran.push({ call, ok: true, value: isThenable(value) ? await value : value });
      } catch (error) {
        if (commit.hasChanged || !this.#file.inTransaction) return undefined;
        ran.push({ call, ok: false, error });
      }
    }
    return ran;
  }

  /** Begins anew and runs each call behind a savepoint, so that those that throw are undone alone. */
  async #runApart(batch: Call[]): Promise<Ran[]> {
    if (this.#file.inTransaction) this.#statements.rollBack.run();
    await this.#begin();
    const ran: Ran[] = [];
    for (const call of batch) ran.push(await this.#runAlone(call));
    return ran;
  }

  async #runAlone(call: Call): Promise<Ran> {
    this.#statements.beginCall.run();
    try {
      const value = await call.change(this.#tx);
      // Not put off any longer, so that it is undone with the call.
      this.#tx.commit.end();
      this.#statements.endCall.run();
      return { call, ok: true, value };
    } catch (error) {
      // A full disk ends the whole transaction: then nothing of this batch is left to commit.
      if (!this.#file.inTransaction) throw error;
      this.#statements.undoCall.run();
      this.#statements.endCall.run();
      return { call, ok: false, error };
    } finally {
      this.#renew(this.#tx.commit);
    }
  }

  /** Forgets what was true of the transaction so far, but for who is to be told of it. */
  #renew(before?: Commit): void {
    const commit = new Commit();
    for (const id of before?.subscriptionsWithWork ?? []) commit.subscriptionsWithWork.add(id);
    commit.hasFanOuts = before?.hasFanOuts ?? false;
    this.#tx.commit = commit;
    // Other processes may have changed the workspace since the last commit; while one is open nobody else can.
    this.#tx.cacheVersion.forget();
  }
}

function prepareStatements(file: SqliteFile) {
  return {
    begin: file.prepare("BEGIN IMMEDIATE"),
    beginCall: file.prepare("SAVEPOINT call"),
    endCall: file.prepare("RELEASE call"),
    undoCall: file.prepare("ROLLBACK TO call"),
    commit: file.prepare("COMMIT"),
    rollBack: file.prepare("ROLLBACK"),
  };
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Also what drizzle hands out, which is no Promise and yet can be awaited. Waiting for a plain value would cost a turn. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}
