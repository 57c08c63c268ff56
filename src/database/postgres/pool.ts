import type { DatabaseUrl } from "../../input/database-url.ts";
import { Connection } from "./connection.ts";
import { ConnectionTrouble } from "./connection-trouble.ts";
import { passesSoon } from "./errors.ts";

/** For how many ticks a caller waits for a connection. */
const waitTicks = 5;

/** For how long after the last connection was lost callers wait for the next, in milliseconds: a restart is short. */
const graceMs = 1_000;

/** The pause after a failure to connect, in milliseconds; it doubles with each, up to `pauseMsMax`. */
const pauseMs = 50;
const pauseMsMax = 1_000;

type Waiter = {
  isForSession: boolean;
  ticks: number;
  resolve: (connection: Connection) => void;
  reject: (error: unknown) => void;
};

/** A bounded number of connections, and those who wait for one. */
export class Pool {
  /** The index of the host that was connected to last. */
  host = 0;
  readonly #url: DatabaseUrl;
  readonly #max: number;
  readonly #connections = new Set<Connection>();
  readonly #waiting: Waiter[] = [];
  readonly #ticks: Timer;
  #dialling = 0;
  /** Since when connecting fails, how often it did, and when it is tried next; undefined while it works. */
  #failing:
    | { since: number; failures: number; nextAt: number; error: unknown; isLasting: boolean }
    | undefined;
  #pause: Timer | undefined;
  #closed: unknown;

  constructor(url: DatabaseUrl, max: number, tickMs: number) {
    this.#url = url;
    this.#max = max;
    this.#ticks = setInterval(() => this.#tick(), tickMs);
    this.#ticks.unref();
  }

  /** The connection with the fewest queries under way; undefined when there is none. */
  leastBusy(): Connection | undefined {
    let found: Connection | undefined;
    for (const connection of this.#connections)
      if (!connection.isTaken && connection.isOpen && connection.inFlight < (found?.inFlight ?? Infinity))
        found = connection;
    if (found && found.inFlight > 0) this.#dialMore();
    return found;
  }

  /** A connection for one query, as soon as there is one. */
  connection(): Promise<Connection> {
    return this.#wait(false);
  }

  /** A connection for the caller alone, until `giveBack`. */
  take(): Promise<Connection> {
    const connection = this.#takeNow();
    return connection ? Promise.resolve(connection) : this.#wait(true);
  }

  giveBack(connection: Connection): void {
    connection.isTaken = false;
    connection.isWatched = true;
    if (!connection.isOpen) connection.end(retired);
    this.#serve();
  }

  /** Rejects those who wait with `reason`, waits for queries under way for 2 s at most, and closes all connections. */
  async close(reason: unknown): Promise<void> {
    this.#closed = reason;
    clearInterval(this.#ticks);
    clearTimeout(this.#pause);
    this.#rejectAll(reason);
    const deadline = performance.now() + 2_000;
    const isBusy = () => [...this.#connections].some(({ isOpen, inFlight }) => isOpen && inFlight > 0);
    while (isBusy() && performance.now() < deadline) await Bun.sleep(10);
    for (const connection of this.#connections) connection.end(reason);
  }

  #takeNow(): Connection | undefined {
    const all = [...this.#connections];
    if (all.filter(({ isTaken }) => isTaken).length >= this.#max - 1) return undefined;
    const free = all.filter(({ isTaken, isOpen }) => !isTaken && isOpen);
    // Behind others' queries the wait is as long as they take, so a new connection is better while there may be one.
    const found = free.find(({ inFlight }) => inFlight === 0) ?? (this.#isFull && free.length > 1 && free[0]);
    if (!found) return undefined;
    found.isTaken = true;
    found.isWatched = false;
    return found;
  }

  get #isFull(): boolean {
    return this.#connections.size + this.#dialling >= this.#max;
  }

  #wait(isForSession: boolean): Promise<Connection> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const failing = this.#failing;
    if (failing && this.#dialling === 0 && failing.isLasting && performance.now() < failing.nextAt)
      return Promise.reject(failing.error);
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    this.#waiting.push({ isForSession, ticks: 0, resolve, reject });
    this.#dialMore();
    return promise;
  }

  /** Opens another connection if that is of use, after the pause that follows a failure. */
  #dialMore(): void {
    if (this.#closed !== undefined || this.#pause || this.#isFull) return;
    if (this.#dialling >= Math.max(1, this.#waiting.length)) return;
    const pauseMs = (this.#failing?.nextAt ?? 0) - performance.now();
    if (pauseMs <= 0) return void this.#dial();
    if (this.#waiting.length === 0) return;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#dialMore();
    }, pauseMs);
  }

  async #dial(): Promise<void> {
    this.#dialling++;
    const settled = () => void this.#dialling--;
    await Connection.open(this.#url, this.host)
      .finally(settled)
      .then(
        (connection) => this.#opened(connection),
        (error: unknown) => this.#failed(error),
      );
  }

  #opened(connection: Connection): void {
    if (this.#closed !== undefined) return connection.end(this.#closed);
    if (!connection.isOpen) return this.#failed(retired);
    this.#failing = undefined;
    this.host = connection.host;
    this.#connections.add(connection);
    connection.onEnd = () => {
      this.#connections.delete(connection);
      if (this.#waiting.length > 0) this.#dialMore();
    };
    this.#serve();
  }

  #failed(error: unknown): void {
    const now = performance.now();
    const { since, failures } = this.#failing ?? { since: now, failures: 0 };
    const isLasting = now - since > graceMs || !passesSoon(error);
    const nextAt = now + Math.min(pauseMs * 2 ** failures, pauseMsMax);
    this.#failing = { since, failures: failures + 1, nextAt, error, isLasting };
    if (isLasting && this.leastBusy() === undefined) this.#rejectAll(error);
    else if (this.#waiting.length > 0) this.#dialMore();
  }

  /** Gives connections to those who wait, in their order; one for whom there is none keeps waiting. */
  #serve(): void {
    for (const waiter of this.#waiting.splice(0)) {
      const connection = waiter.isForSession ? this.#takeNow() : this.leastBusy();
      if (connection) waiter.resolve(connection);
      else this.#waiting.push(waiter);
    }
    if (this.#waiting.length > 0) this.#dialMore();
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #tick(): void {
    for (const connection of this.#connections) connection.tick();
    const late = this.#waiting.filter((waiter) => ++waiter.ticks > waitTicks);
    for (const waiter of late) {
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      waiter.reject(this.#failing?.error ?? (this.#connections.size > 0 ? full : silent));
    }
  }
}

const full = new ConnectionTrouble("full", "All connections to the database are in use.");
const silent = new ConnectionTrouble("silent", "The database does not answer.");
const retired = new ConnectionTrouble("closed", "The connection was given up after an error.");
