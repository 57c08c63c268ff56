import type { TracedCommit, TracedWork } from "../../tracing/work.ts";
import { Commit } from "../commit.ts";
import type { CommitObserver, Transaction } from "../database.ts";
import type { AppendRows } from "./append-rows.ts";
import { Facts } from "./facts.ts";
import { retried } from "./retries.ts";
import { LeftOutcomes } from "./left-outcomes.ts";
import { isThenable } from "./questions.ts";
import type { Connections } from "./connections.ts";
import { nobodyAnswers, type PostgresStatements } from "./statements.ts";
import type { VersionLook } from "./version-look.ts";

/** One call of `Database.write`. */
export type Call = {
  change: (tx: Transaction) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  traced: TracedCommit | undefined;
  /** The subscriptions of which it has settled attempts in its latest run by a `WriteLoop`. */
  settles: readonly string[];
};

/** The outcome of one call; the caller learns it only after the commit. */
export type Outcome = { call: Call } & ({ value: unknown } | { error: unknown });

/** The maximum number of calls per commit, so that no call waits long for the others. */
const callsPerCommit = 512;

/** So often may the workspace change under a batch before its calls are made one after the other. */
const attemptsMax = 10;

/**
 * The changes that only put rows down: nearly all, by number. Those of one turn of the event loop run as plain functions
 * on what is in memory, and their rows are written together in one call, which finds out in its own transaction whether
 * the workspace is still what they saw. A change that comes to any other statement is left to `statementWrites`.
 */
export class WriteLoop {
  observer: CommitObserver | undefined;
  readonly #parts: WriteLoopParts;
  readonly #tx: Transaction;
  readonly #leftOutcomes = new LeftOutcomes();
  #facts: Facts | undefined;
  /** The version that the latest commit or look saw. */
  #version: string | undefined;
  #waiting: Call[] = [];
  #isRunning = false;
  #whenDrained: Array<() => void> = [];
  #commits = 0;

  constructor(parts: WriteLoopParts) {
    this.#parts = parts;
    this.#tx = parts.connect(() => {
      if (!this.#facts) throw new Error("Cached data was asked for outside of a change.");
      return this.#facts.versionNow();
    });
  }

  /** See `Database.write`. */
  write<T>(change: (tx: Transaction) => T | Promise<T>, work?: TracedWork): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      change,
      resolve: resolve as (value: unknown) => void,
      reject,
      traced: work?.beginCommit("postgresql"),
      settles: [],
    });
    if (!this.#isRunning) {
      this.#isRunning = true;
      setImmediate(() => void this.#run().catch(reportError));
    }
    return promise;
  }

  /** Resolves when no write is queued or in flight here. */
  drained(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = new Set(this.#waiting.splice(0, callsPerCommit));
      try {
        await this.#commitTogether(batch);
      } catch (error) {
        const reason = await this.#parts.explainCommit(error);
        this.observer?.failed();
        for (const { reject, traced } of batch) {
          traced?.undone(reason);
          reject(reason);
        }
      }
    }
    this.#isRunning = false;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  /** Makes the calls of the batch, except for those that it leaves to others and removes from it. */
  async #commitTogether(batch: Set<Call>): Promise<void> {
    const startedAt = this.observer ? performance.now() : 0;
    this.#parts.requireStandby();
    this.#version ??= await this.#parts.look.look();
    let presumesNoFanOuts = true;
    const disabling = new Set<string>();
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const commit = new Commit();
      commit.presumesNoFanOuts = presumesNoFanOuts;
      commit.presumesNoneDisables = true;
      const { outcomes, others } = await this.#runAll(batch, commit, disabling);
      for (const call of others) this.#leave(call, batch);
      if (outcomes.length === 0) return;
      const { said, disabling: found } = await this.#write(commit);
      if (said === "written") {
        this.observer?.committed(outcomes.length, performance.now() - startedAt);
        this.#settle(outcomes, commit);
        return;
      }
      if (said === "fan_outs") presumesNoFanOuts = false;
      for (const id of found) disabling.add(id);
    }
    for (const call of batch) this.#leave(call, batch);
  }

  /** What becomes of the call is no longer for the batch to say. */
  #leave(call: Call, batch: Set<Call>): void {
    batch.delete(call);
    this.#parts.leave(this.#leftOutcomes.counting(call));
  }

  /**
   * Runs each call until nothing is missing. Returns `others`, which have to be made by statements: also those that settle
   * attempts of the subscriptions in `disabling`.
   */
  async #runAll(
    calls: Iterable<Call>,
    commit: Commit,
    disabling: ReadonlySet<string>,
  ): Promise<{ outcomes: Outcome[]; others: Call[] }> {
    const outcomes: Outcome[] = [];
    const others: Call[] = [];
    let open = Array.from(calls, (call) => ({ call, facts: new Facts() }));
    while (open.length > 0) {
      const interrupted: typeof open = [];
      for (const each of open) {
        each.facts.version = this.#version;
        const ended = await this.#runOne(each.call, each.facts, commit, disabling);
        if (each.facts.needsTransaction) others.push(each.call);
        else if (each.facts.isInterrupted) interrupted.push(each);
        else outcomes.push({ call: each.call, ...ended });
      }
      if (interrupted.some(({ facts }) => facts.needsVersion)) this.#version = await this.#parts.look.look();
      await Promise.all(interrupted.map(({ facts }) => this.#load(facts)));
      open = interrupted;
    }
    return { outcomes, others };
  }

  async #load(facts: Facts): Promise<void> {
    const { missing } = facts;
    if (missing)
      facts.learn(missing, await retried(this.#parts.connections, missing.query.sql, missing.parameters));
  }

  async #runOne(
    call: Call,
    facts: Facts,
    commit: Commit,
    disabling: ReadonlySet<string>,
  ): Promise<{ value: unknown } | { error: unknown }> {
    commit.appended.beginCall();
    facts.begin(commit.appended);
    this.#facts = facts;
    this.#parts.statements.answers = facts;
    this.#tx.commit = commit;
    commit.traceparent = call.traced?.traceparent ?? null;
    try {
      const result = call.change(this.#tx);
      const value = isThenable(result) ? await result : result;
      call.settles = commit.appended.subscriptionsOfCall;
      if (call.settles.some((id) => disabling.has(id) || this.#leftOutcomes.has(id)))
        facts.needsTransaction = true;
      if (facts.isInterrupted) commit.appended.undoCall();
      return { value };
    } catch (error) {
      commit.appended.undoCall();
      return { error };
    } finally {
      this.#facts = undefined;
      this.#parts.statements.answers = nobodyAnswers;
    }
  }

  async #write(commit: Commit): Promise<Pick<Awaited<ReturnType<AppendRows>>, "said" | "disabling">> {
    if (commit.appended.isEmpty) {
      // Nothing to write, but a refusal must not rest on what another node has changed meanwhile.
      const version = await this.#parts.look.look();
      const isCurrent = this.#version === undefined || version === this.#version;
      this.#version = version;
      return { said: isCurrent ? "written" : "stale", disabling: [] };
    }
    const written = await this.#parts.appendRows(commit, this.#version ?? null);
    this.#version = written.version;
    this.#parts.look.latest = written.version;
    return written;
  }

  #settle(outcomes: readonly Outcome[], commit: Commit): void {
    const shared = { number: ++this.#commits, calls: outcomes.length };
    for (const outcome of outcomes) {
      const { call } = outcome;
      if ("error" in outcome) {
        call.traced?.undone(outcome.error);
        call.reject(this.#parts.explain(outcome.error));
      } else {
        call.traced?.committed(shared);
        call.resolve(outcome.value);
      }
    }
    setImmediate(() => this.#parts.announce(commit));
  }
}

/** What a `WriteLoop` is made of. */
export type WriteLoopParts = {
  connections: Connections;
  look: VersionLook;
  statements: PostgresStatements;
  connect: (version: () => string) => Transaction;
  appendRows: AppendRows;
  /** Makes the call in a transaction of statements. */
  leave: (call: Call) => void;
  announce: (commit: Commit) => void;
  /** @throws when it is known that no commit would come to its end. */
  requireStandby: () => void;
  /** Notes that a write failed and returns the error for the caller. */
  explain: (error: unknown) => unknown;
  /** The same for all that were to be committed together. */
  explainCommit: (error: unknown) => Promise<unknown>;
};
