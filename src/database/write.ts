import type { Database as SqliteFile } from "bun:sqlite";
import type { TracedCommit, TracedWork } from "../tracing/work.ts";
import { Commit } from "./commit.ts";
import type { CommitObserver, Transaction } from "./database.ts";
import { explainWriteError, isBusy } from "./write-errors.ts";

type Call = {
  change: (tx: Transaction) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  traced: TracedCommit | undefined;
};

/** The outcome of one call inside the open transaction; the caller learns it only after the commit. */
type Outcome = { call: Call } & ({ ok: true; value: unknown } | { ok: false; error: unknown });

/** The maximum number of calls per commit, so that no call waits long for the others. */
const callsPerCommit = 512;

/** The interval between attempts to take a lock held by another process, in milliseconds. */
const lockRetryMs = 2;

/**
 * The only way to change data. SQLite has one writer at a time and a commit costs a disk flush, so calls queue up here
 * and those of one turn of the event loop share a transaction: while the disk is busy, the next batch gathers.
 */
export class WriteQueue {
  observer: CommitObserver | undefined;
  readonly #file: SqliteFile;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #tx: Transaction;
  readonly #writeAppended: (commit: Commit) => void;
  readonly #beforeCommit: () => void;
  readonly #afterCommit: () => void;
  readonly #afterResponses: (commit: Commit) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #lockWaitMs: number;
  #waiting: Call[] = [];
  #isRunning = false;
  /** The number of commits so far. */
  #commits = 0;
  /** The last commit, as long as only its callers know of it. */
  #unannounced: Commit | undefined;
  #whenDrained: Array<() => void> = [];

  constructor(
    file: SqliteFile,
    tx: Transaction,
    options: {
      lockWaitMs: number;
      /** Writes what the calls have put down. */
      writeAppended: (commit: Commit) => void;
      /** Runs last in each transaction; if it throws, the transaction is rolled back. */
      beforeCommit: () => void;
      /** Runs before the callers learn of the commit. */
      afterCommit: () => void;
      /** Runs one turn of the event loop later, before the next transaction. */
      afterResponses: (commit: Commit) => void;
      /** Called with each error that made a commit or one of its calls fail. */
      onFailure: (error: unknown) => void;
    },
  ) {
    this.#file = file;
    this.#statements = prepareStatements(file);
    this.#tx = tx;
    this.#writeAppended = options.writeAppended;
    this.#beforeCommit = options.beforeCommit;
    this.#afterCommit = options.afterCommit;
    this.#afterResponses = options.afterResponses;
    this.#onFailure = options.onFailure;
    this.#lockWaitMs = options.lockWaitMs;
  }

  /** See `Database.write`. */
  write<T>(change: (tx: Transaction) => T | Promise<T>, work?: TracedWork): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const traced = work?.beginCommit("sqlite");
    this.#waiting.push({ change, resolve: resolve as (value: unknown) => void, reject, traced });
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#scheduleRun();
    }
    return promise;
  }

  /** Resolves when no write is queued or in flight. */
  drained(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  // Scheduled as a macrotask, so that every request already in the event loop joins the batch. Bun does not report a
  // rejection from a macrotask, and a stalled queue must not go unnoticed.
  #scheduleRun(): void {
    setImmediate(() => void this.#run().catch(reportError));
  }

  async #run(): Promise<void> {
    this.#announceCommit();
    await this.#gather();
    const batch = this.#waiting.slice(0, callsPerCommit);
    this.#waiting = this.#waiting.slice(callsPerCommit);
    try {
      if (batch.length > 0) await this.#commitTogether(batch);
    } finally {
      this.#continue();
    }
  }

  // Runs a turn after the commit: a checkpoint and starting deliveries take milliseconds, and the responses, which
  // clients wait for, go out first. An error of a listener is reported separately: the commit has succeeded and the
  // next writes are waiting.
  #announceCommit(): void {
    const commit = this.#unannounced;
    if (!commit) return;
    this.#unannounced = undefined;
    try {
      this.#afterResponses(commit);
    } catch (error) {
      reportError(error);
    }
  }

  // Clients that got a response after the last commit send their next requests over the next few turns. As long as
  // each turn brings more, more calls share the cost of one commit.
  async #gather(): Promise<void> {
    let gathered = 0;
    while (this.#waiting.length > gathered && this.#waiting.length < callsPerCommit) {
      gathered = this.#waiting.length;
      await nextTurn();
    }
  }

  #continue(): void {
    if (this.#waiting.length > 0 || this.#unannounced) return this.#scheduleRun();
    this.#isRunning = false;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  async #commitTogether(batch: Call[]): Promise<void> {
    let outcomes: Outcome[];
    const startedAt = this.observer ? performance.now() : 0;
    try {
      await this.#begin();
      outcomes = (await this.#runTogether(batch)) ?? (await this.#runSeparately(batch));
      this.#beforeCommit();
      this.#statements.commit.run();
    } catch (error) {
      this.observer?.failed();
      const reason = this.#reportFailure(error);
      for (const { reject, traced } of batch) {
        traced?.undone(reason);
        reject(reason);
      }
      if (this.#file.inTransaction) this.#statements.rollBack.run();
      return;
    }
    this.observer?.committed(batch.length, performance.now() - startedAt);
    this.#unannounced = this.#tx.commit;
    this.#afterCommit();
    const shared = { number: ++this.#commits, calls: batch.length };
    for (const result of outcomes) {
      const { traced } = result.call;
      if (result.ok) {
        traced?.committed(shared);
        result.call.resolve(result.value);
      } else {
        traced?.undone(result.error);
        result.call.reject(this.#reportFailure(result.error));
      }
    }
  }

  /** Reports the failure and returns the error for the caller. */
  #reportFailure(error: unknown): unknown {
    this.#onFailure(error);
    return explainWriteError(error);
  }

  // Another process, such as a command, may hold the lock. Waiting inside SQLite would block the event loop, and with
  // it every read and delivery.
  async #begin(): Promise<void> {
    const deadline = performance.now() + this.#lockWaitMs;
    while (true) {
      try {
        this.#statements.begin.run();
        this.#resetTransaction();
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error;
      }
      await Bun.sleep(lockRetryMs);
    }
  }

  /**
   * Runs the calls without savepoints and writes what they have put down. Returns undefined if one threw after it had
   * changed something, or if their rows cannot be written, for which one of them may be to blame.
   */
  async #runTogether(batch: Call[]): Promise<Outcome[] | undefined> {
    const outcomes: Outcome[] = [];
    const { commit } = this.#tx;
    for (const call of batch) {
      commit.hasChanged = false;
      commit.appended.beginCall();
      commit.traceparent = call.traced?.traceparent ?? null;
      try {
        const value = call.change(this.#tx);
        outcomes.push({ call, ok: true, value: isThenable(value) ? await value : value });
      } catch (error) {
        if (commit.hasChanged || !this.#file.inTransaction) return undefined;
        commit.appended.undoCall();
        outcomes.push({ call, ok: false, error });
      }
    }
    try {
      this.#writeAppended(commit);
    } catch {
      return undefined;
    }
    return outcomes;
  }

  /** Starts over and runs each call inside a savepoint, so that a call that throws is rolled back alone. */
  async #runSeparately(batch: Call[]): Promise<Outcome[]> {
    if (this.#file.inTransaction) this.#statements.rollBack.run();
    await this.#begin();
    const outcomes: Outcome[] = [];
    for (const call of batch) outcomes.push(await this.#runAlone(call));
    return outcomes;
  }

  async #runAlone(call: Call): Promise<Outcome> {
    this.#statements.createSavepoint.run();
    this.#tx.commit.traceparent = call.traced?.traceparent ?? null;
    try {
      const value = await call.change(this.#tx);
      this.#writeAppended(this.#tx.commit);
      this.#statements.releaseSavepoint.run();
      return { call, ok: true, value };
    } catch (error) {
      // A full disk rolls back the whole transaction: nothing of this batch is left to commit.
      if (!this.#file.inTransaction) throw error;
      this.#statements.rollBackToSavepoint.run();
      this.#statements.releaseSavepoint.run();
      return { call, ok: false, error };
    } finally {
      this.#resetTransaction(this.#tx.commit);
    }
  }

  /** Resets the state of the transaction, but keeps the work to announce. */
  #resetTransaction(previous?: Commit): void {
    const commit = new Commit();
    if (previous) commit.include(previous);
    this.#tx.commit = commit;
    // Other processes may have changed the workspace since the last commit; during a transaction they cannot.
    this.#tx.cacheVersion.forget();
  }
}

function prepareStatements(file: SqliteFile) {
  return {
    begin: file.prepare("BEGIN IMMEDIATE"),
    createSavepoint: file.prepare("SAVEPOINT call"),
    releaseSavepoint: file.prepare("RELEASE call"),
    rollBackToSavepoint: file.prepare("ROLLBACK TO call"),
    commit: file.prepare("COMMIT"),
    rollBack: file.prepare("ROLLBACK"),
  };
}

/** Resolves in the next turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Also true for drizzle's queries, which are thenable but not promises. Awaiting a plain value would cost a turn. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}
