import { repeatable } from "../../system/repeatable.ts";
import { Commit } from "../commit.ts";
import type { CommitObserver, Transaction } from "../database.ts";
import type { Connections } from "./connections.ts";
import type { Session } from "./session.ts";
import { causeOf } from "./errors.ts";
import { changesLock, lockClass } from "./lock-keys.ts";
import { Retries } from "./retries.ts";
import { StatementRun } from "./statement-run.ts";
import { nobodyAnswers, type PostgresStatements, type Result } from "./statements.ts";
import type { Call, Outcome } from "./write-loop.ts";

/** The maximum number of calls per commit: while their transaction runs, nobody else can commit. */
const callsPerCommit = 64;

/**
 * The changes that need statements. They run one after another, over all nodes, under a lock that also keeps away commits
 * of rows put down: like SQLite's, no change ever sees another's half. Each is a plain function that runs again after
 * each of its statements (see `StatementRun`); the calls that wait share a transaction, each in a savepoint of its own.
 */
export class StatementWrites {
  observer: CommitObserver | undefined;
  readonly #parts: StatementWritesParts;
  readonly #tx: Transaction;
  #waiting: Call[] = [];
  #isRunning = false;
  #whenDrained: Array<() => void> = [];
  #commits = 0;
  /** By which the database knows the commits of this process; see `latest_commits`. */
  readonly #session = crypto.randomUUID();
  #number = 0;

  constructor(parts: StatementWritesParts) {
    this.#parts = parts;
    this.#tx = parts.connect(newVersion);
  }

  add(call: Call): void {
    this.#waiting.push(call);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void this.#loop().catch(reportError));
  }

  /** Resolves when no call is queued or in flight here. */
  drained(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  async #loop(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commitTogether(this.#waiting.splice(0, callsPerCommit));
    this.#isRunning = false;
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }

  async #commitTogether(calls: Call[]): Promise<void> {
    const startedAt = this.observer ? performance.now() : 0;
    try {
      this.#parts.requireStandby();
      const { outcomes, commit } = await this.#untilDecided(calls);
      this.observer?.committed(calls.length, performance.now() - startedAt);
      this.#settle(outcomes, commit);
    } catch (error) {
      this.observer?.failed();
      const reason = await this.#parts.explainCommit(error);
      for (const { reject, traced } of calls) {
        traced?.undone(reason);
        reject(reason);
      }
    }
  }

  async #untilDecided(calls: Call[]): Promise<Decided> {
    this.#number++;
    let decided: Decided | undefined;
    const retries = new Retries();
    while (true) {
      try {
        return await this.#transaction(calls, decided, (now) => (decided = now));
      } catch (error) {
        if (!retries.after(error)) throw error;
      }
    }
  }

  /**
   * Runs the calls, tells `decide` what they came to and commits. `before` is what they came to in a transaction whose
   * connection broke: if that has committed, nothing is left to do.
   */
  async #transaction(
    calls: Call[],
    before: Decided | undefined,
    decide: (decided: Decided) => void,
  ): Promise<Decided> {
    const session = await this.#parts.connections.session();
    let isOver = false;
    try {
      // The lock also waits for the end of an earlier transaction of ours.
      await Promise.all([session.query(begin, []), session.query(lock, [lockClass, changesLock])]);
      const hasCommitted = before !== undefined && (await this.#hasCommitted(session));
      const sent: Promise<Result>[] = [];
      const decided = hasCommitted ? before : await this.#runAll(calls, session, sent);
      decide(decided);
      // If any has failed, the COMMIT is a rollback that says nothing.
      await Promise.all([
        ...sent,
        // Something has to be written, or this commit would not wait for a standby that has not got the other yet.
        hasCommitted ? session.query(emit, []) : session.query(note, [this.#session, this.#number]),
        session.query(commitStatement, []),
      ]);
      isOver = true;
      return decided;
    } finally {
      if (!isOver) await session.query(rollback, []).catch(() => {});
      session.release();
    }
  }

  async #runAll(calls: Call[], session: Session, sent: Promise<Result>[]): Promise<Decided> {
    const commit = new Commit();
    const outcomes: Outcome[] = [];
    for (const call of calls) {
      const outcome = await this.#runAlone(call, session, sent);
      outcomes.push(outcome);
      if (!("error" in outcome)) commit.include(outcome.commit);
    }
    return { outcomes, commit };
  }

  // Statements are sent without waiting for the answers of those before, unless one of them is wanted: each round trip
  // keeps all other changes waiting.
  async #runAlone(
    call: Call,
    session: Session,
    sent: Promise<Result>[],
  ): Promise<Outcome & { commit: Commit }> {
    const send = (text: string) => {
      const result = session.query(text, []);
      // Its error is met before the commit, or another one is met before it.
      result.catch(() => {});
      sent.push(result);
    };
    send(savepoint);
    const outcome = await this.#runToItsEnd(call, session);
    if ("error" in outcome) send(rollbackToSavepoint);
    send(release);
    return outcome;
  }

  async #runToItsEnd(call: Call, session: Session): Promise<Outcome & { commit: Commit }> {
    const drawn: unknown[] = [];
    const commit = () => Object.assign(new Commit(), { traceparent: call.traced?.traceparent ?? null });
    const run = new StatementRun((text, parameters) => session.query(text, parameters), commit());
    this.#parts.statements.answers = run;
    try {
      while (true) {
        this.#tx.commit = commit();
        run.begin(this.#tx.commit);
        const ended = await this.#runOnce(call, drawn);
        // What was undone by an error need not be sent any more.
        if (!run.isInterrupted && "error" in ended) return { call, commit: this.#tx.commit, ...ended };
        try {
          if (run.isInterrupted) await run.fetch();
          else {
            await run.finish();
            return { call, commit: this.#tx.commit, ...ended };
          }
        } catch (error) {
          if (causeOf(error) !== undefined) throw error;
          return { call, commit: this.#tx.commit, error };
        }
      }
    } finally {
      this.#parts.statements.answers = nobodyAnswers;
    }
  }

  async #runOnce(call: Call, drawn: unknown[]): Promise<{ value: unknown } | { error: unknown }> {
    try {
      return { value: await repeatable(drawn, async () => await call.change(this.#tx)) };
    } catch (error) {
      return { error };
    }
  }

  async #hasCommitted(session: Session): Promise<boolean> {
    const { rows } = await session.query(latest, [this.#session]);
    return rows[0]?.[0] === this.#number;
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

/** What a `StatementWrites` is made of. */
export type StatementWritesParts = {
  connections: Connections;
  statements: PostgresStatements;
  connect: (version: () => string) => Transaction;
  announce: (commit: Commit) => void;
  /** @throws when it is known that no commit would come to its end. */
  requireStandby: () => void;
  /** Notes that a write failed and returns the error for the caller. */
  explain: (error: unknown) => unknown;
  /** The same for all that were to be committed together. */
  explainCommit: (error: unknown) => Promise<unknown>;
};

/** What the calls of a transaction have come to, if it commits. */
type Decided = { outcomes: Outcome[]; commit: Commit };

/** A version for `cached` that no other look has: what the change reads is remembered by its run. */
let versions = 0;
const newVersion = () => String(++versions);

const begin = "BEGIN";
const lock = "SELECT pg_advisory_xact_lock($1::integer, $2::integer)";
const savepoint = "SAVEPOINT call";
const release = "RELEASE SAVEPOINT call";
const rollbackToSavepoint = "ROLLBACK TO SAVEPOINT call";
const commitStatement = "COMMIT";
const rollback = "ROLLBACK";
const latest = "SELECT number FROM latest_commits WHERE session = $1";
const note =
  "INSERT INTO latest_commits VALUES ($1, $2, now()) ON CONFLICT (session) DO UPDATE SET number = excluded.number, at = excluded.at";
const emit = "SELECT pg_logical_emit_message(true, 'parley', '')";
