import type { Connection } from "./connection.ts";
import type { Result } from "./values.ts";

/** For how many seconds a statement without limits may take: then nobody will answer any more. */
const unlimitedSeconds = 3_600;

/** A connection that nobody else uses. Once it is lost, every query rejects: it is never another connection. */
export class Session {
  readonly #connection: Connection;
  readonly #giveBack: (connection: Connection) => void;
  #hasTransaction = false;
  #isLimited = true;

  constructor(connection: Connection, giveBack: (connection: Connection) => void) {
    this.#connection = connection;
    this.#giveBack = giveBack;
  }

  /** Runs one statement; see `Connections.query`. */
  async query(text: string, parameters: readonly unknown[] = []): Promise<Result> {
    if (/^(begin|start)\b/i.test(text)) this.#hasTransaction = true;
    const result = await this.#connection.query(text, parameters);
    if (/^(commit|rollback(?! to\b))\b/i.test(text)) this.#hasTransaction = false;
    return result;
  }

  /** Runs several statements without parameters, separated by semicolons. */
  script(text: string): Promise<void> {
    return this.#connection.script(text);
  }

  /** Lets statements and transactions take up to an hour, until the session ends. */
  async liftLimits(): Promise<void> {
    this.#isLimited = false;
    this.#connection.patience = unlimitedSeconds;
    await this.script(
      "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0",
    );
  }

  /**
   * Calls `listener` once when the connection is lost, at once or after 20 s of silence: the server is asked every 5 s.
   * For locks, not for transactions.
   */
  onLost(listener: (error: unknown) => void): void {
    this.#connection.isWatched = true;
    this.#connection.onLost = listener;
  }

  /** Gives the connection back for others. One with an open transaction, or with lifted limits, is closed instead. */
  release(): void {
    this.#connection.onLost = undefined;
    if (this.#hasTransaction || !this.#isLimited) this.#connection.end(released);
    this.#giveBack(this.#connection);
  }

  /** Closes the connection: the server rolls an open transaction back and drops locks. */
  close(): void {
    this.#connection.onLost = undefined;
    this.#connection.end(released);
    this.#giveBack(this.#connection);
  }
}

const released = new Error("The session has ended.");
