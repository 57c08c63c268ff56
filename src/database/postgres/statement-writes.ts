import { repeatable } from "../../system/repeatable.ts";
import { Commit } from "../commit.ts";
import type { CommitObserver, Transaction } from "../database.ts";
import { appendQuery, parametersOf, takeNumbers } from "./append-rows.ts";
import type { Connections } from "./connections.ts";
import type { Session } from "./session.ts";
import { causeOf } from "./errors.ts";
import { changesLock, lockClass } from "./lock-keys.ts";
import { type Pending, Replay } from "./replay.ts";
import { Retries } from "./retries.ts";
import {
  type Answers,
  nobodyAnswers,
  type PostgresStatements,
  type Query,
  type Result,
} from "./statements.ts";
import type { Call, Outcome } from "./write-loop.ts";

/** The maximum number of calls per commit: while their transaction runs, nobody else can commit. */
const callsPerCommit = 64;

/**
 * The changes that need statements. They run one after another, over all nodes, under a lock that also keeps away commits
 * of rows put down: like SQLite's, no change ever sees another's half. Each is a plain function that runs again after
 * each of its statements (see `Replay`); the calls that wait share a transaction, each in a savepoint of its own.
 */
export class StatementWrites {
  observer: CommitObserver | undefined;
  readonly #parts: StatementWritesParts;
  readonly #tx: Transaction;
  #run: Run | undefined;
  #waiting: Call[] = [];
  #isRunning = false;
  #whenDrained: Array<() => void> = [];
  #commits = 0;
  /** By which the database knows the commits of this process; see `latest_commits`. */
  readonly #session = crypto.randomUUID();
  #number = 0;

  constructor(parts: StatementWritesParts) {
    this.#parts = parts;
    this.#tx = parts.connect(() => {
      if (!this.#run) throw new Error("Cached data was asked for outside of a change.");
      return this.#run.version();
    });
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
      const { outcomes, commit } = await this.#untilDecided(calls);
      this.observer?.committed(calls.length, performance.now() - startedAt);
      this.#settle(outcomes, commit);
    } catch (error) {
      this.observer?.failed();
      const reason = this.#parts.explain(error);
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
      const run = new Run(this.#parts.statements, this.#tx);
      const outcome = await this.#runAlone(call, run, session, sent);
      outcomes.push(outcome);
      if (!("error" in outcome)) commit.include(run.commit);
    }
    return { outcomes, commit };
  }

  // Statements are sent without waiting for the answers of those before, unless one of them is wanted: each round trip
  // keeps all other changes waiting.
  async #runAlone(call: Call, run: Run, session: Session, sent: Promise<Result>[]): Promise<Outcome> {
    sent.push(session.query(savepoint, []));
    const outcome = await this.#runToItsEnd(call, run, session);
    if ("error" in outcome) sent.push(session.query(rollbackToSavepoint, []));
    sent.push(session.query(release, []));
    for (const each of sent) each.catch(() => {});
    return outcome;
  }

  async #runToItsEnd(call: Call, run: Run, session: Session): Promise<Outcome> {
    const drawn: unknown[] = [];
    this.#run = run;
    try {
      while (true) {
        const ended = await run.once(call, drawn);
        const { isInterrupted } = run.replay;
        // What was undone by an error need not be sent any more.
        if (!isInterrupted && "error" in ended) return { call, ...ended };
        try {
          const last = await sendAll(session, run.replay.takeUnsent());
          if (!isInterrupted) return { call, ...ended };
          if (last) run.replay.learn(last);
        } catch (error) {
          if (causeOf(error) !== undefined) throw error;
          return { call, error };
        }
      }
    } finally {
      this.#run = undefined;
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
  /** Notes that a write failed and returns the error for the caller. */
  explain: (error: unknown) => unknown;
};

/** What the calls of a transaction have come to, if it commits. */
type Decided = { outcomes: Outcome[]; commit: Commit };

/** One call on its way through the runs of its change. */
class Run implements Answers {
  readonly replay = new Replay();
  readonly #statements: PostgresStatements;
  readonly #tx: Transaction;
  #version = "";
  commit = new Commit();

  constructor(statements: PostgresStatements, tx: Transaction) {
    this.#statements = statements;
    this.#tx = tx;
  }

  /** Runs the change once, as far as it comes. */
  async once(call: Call, drawn: unknown[]): Promise<{ value: unknown } | { error: unknown }> {
    this.replay.begin();
    this.#version = newVersion();
    this.commit = new Commit();
    this.commit.traceparent = call.traced?.traceparent ?? null;
    this.#tx.commit = this.commit;
    this.#statements.answers = this;
    try {
      return {
        value: await repeatable(drawn, async () => {
          const value = await call.change(this.#tx);
          this.#writeRows();
          return value;
        }),
      };
    } catch (error) {
      return { error };
    } finally {
      this.#statements.answers = nobodyAnswers;
    }
  }

  /**
   * The version for `cached`: another one in each run, since a run must come to the same statements as those before it,
   * and after each change.
   */
  version(): string {
    return this.#version;
  }

  answer(query: Query, parameters: readonly unknown[]): Result {
    this.#writeRows();
    const result = this.replay.answer(query, parameters);
    if (query.isChange) this.#version = newVersion();
    return result;
  }

  /** Writes the rows that were put down so far, for statements after them have to see them. */
  #writeRows(): void {
    const { appended } = this.commit;
    if (appended.isEmpty || appended.isLeftAside) return;
    const rows = appended.takeAll();
    takeNumbers(rows, this.replay.answer(appendQuery, parametersOf(rows, { version: null })), this.commit);
  }
}

/** Sends the statements and returns what the last one gave. @throws the error of the first that failed. */
async function sendAll(session: Session, statements: readonly Pending[]): Promise<Result | undefined> {
  const sent = statements.map(({ query, parameters }) => session.query(query.sql, parameters));
  const [failed] = (await Promise.allSettled(sent)).filter(({ status }) => status === "rejected");
  if (failed) throw (failed as PromiseRejectedResult).reason;
  return await sent.at(-1);
}

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
