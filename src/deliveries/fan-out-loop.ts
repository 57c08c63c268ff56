import type { Database } from "../database/database.ts";
import { continueFanOuts } from "../outbox/fan-outs.ts";
import { selectNextFanOut } from "../outbox/fan-out-store.ts";
import type { Log } from "../log/log.ts";
import type { Ownership } from "./ownership.ts";
import { Throttle } from "./throttle.ts";

/** After each write the loop rests for this multiple of its duration: requests and deliveries come first. */
const restFactor = 3;

/** The longest rest, in milliseconds: without it a machine suspended for a minute would rest for three more. */
const restMaxMs = 50;

/** How long to wait before retrying after an internal error, such as a full disk, in milliseconds. */
const faultPauseMs = 1_000;

/** What names this work where servers divide it: one of them does it. */
export const fanOutsKey = "fan-outs";

/**
 * Queues events that match many subscriptions, in small writes with rests between them. Teams take turns, and each
 * team's events stay in order. Work needs no claim: one server at a time uses a data folder, and of several on a database
 * one does this; two at once would only be wasteful. The loop queries the database only after a commit that brings it
 * work.
 */
export class FanOutLoop {
  readonly #database: Database;
  readonly #log: Log;
  readonly #ownership: Ownership | undefined;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #isRunning = false;
  /** Whether it was woken while it asked for work, so that the answer may be older than the work. */
  #isWoken = false;
  /** When the loop last went round, by `performance.now()`. */
  #turnedAt = 0;
  #run: Promise<void> = Promise.resolve();

  constructor(database: Database, log: Log, ownership?: Ownership) {
    this.#database = database;
    this.#log = log;
    this.#ownership = ownership;
    database.onWork((_, { hasFanOuts }) => {
      if (!hasFanOuts) return;
      if (this.#isOurs) this.wake();
      else ownership?.tell([fanOutsKey]);
    });
  }

  get #isOurs(): boolean {
    return this.#ownership?.owns(fanOutsKey) !== false;
  }

  /**
   * Starts working unless it already is: for use after a commit with work, at startup, and on another process's signal.
   * Does nothing where another server does this.
   */
  wake(): void {
    this.#isWoken = true;
    if (this.#isRunning || this.#throttle.isStopped || !this.#isOurs) return;
    this.#isRunning = true;
    this.#run = this.#work();
  }

  /** For how long the loop has not gone round although it has work, in milliseconds. */
  stalledMs(): number {
    return this.#isRunning ? performance.now() - this.#turnedAt : 0;
  }

  /** Resolves after the write in progress; the rest is queued after the next start. */
  async stop(): Promise<void> {
    this.#throttle.stop();
    await this.#run;
  }

  async #work(): Promise<void> {
    let team = "";
    while (!this.#throttle.isStopped && this.#isOurs) {
      this.#turnedAt = performance.now();
      try {
        this.#isWoken = false;
        const after = team;
        const next = await this.#database.ask((db) => selectNextFanOut(db, after));
        if (!next && this.#isWoken) continue;
        if (!next) break;
        team = next.teamId;
        await this.#throttle.step(() => this.#database.write((tx) => continueFanOuts(tx, next.teamId)));
      } catch (error) {
        this.#log.error({ err: error }, "fan_out.held_up");
        await this.#throttle.rest(faultPauseMs);
      }
    }
    this.#isRunning = false;
  }
}
