import type { Database } from "../database/database.ts";
import { continueFanOuts } from "../outbox/fan-outs.ts";
import { selectNextFanOut } from "../outbox/fan-out-store.ts";
import type { Log } from "../log/log.ts";
import { Throttle } from "./throttle.ts";

/** After each write it rests for so many times as long as that took: what people wait for comes first. */
const restFactor = 3;

/** It rests for no longer than this, in milliseconds: else a machine that stood still for a minute would cost three more. */
const restMaxMs = 50;

/** How long to wait after a fault of our own, a full disk for one, before the same is tried again, in milliseconds. */
const faultPauseMs = 1_000;

/**
 * Queues the events that many subscriptions want, in small writes with rests between them. Teams take turns, and the
 * events of one team follow each other. It claims nothing, because one server at a time works on a data folder. Between
 * commits that bring it work it asks the database nothing.
 */
export class FanOutLoop {
  readonly #database: Database;
  readonly #log: Log;
  readonly #throttle = new Throttle(restFactor, restMaxMs);
  #isRunning = false;
  #run: Promise<void> = Promise.resolve();

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
    database.onWork((_, hasFanOuts) => {
      if (hasFanOuts) this.wake();
    });
  }

  /** Looks for work: after a commit that brought some, at the start, and when another process has stored events. */
  wake(): void {
    if (this.#isRunning || this.#throttle.isStopped) return;
    this.#isRunning = true;
    this.#run = this.#work();
  }

  /** Ends after the write under way; what is left is queued after the next start. */
  async stop(): Promise<void> {
    this.#throttle.stop();
    await this.#run;
  }

  async #work(): Promise<void> {
    let team = "";
    while (!this.#throttle.isStopped) {
      try {
        const next = selectNextFanOut(this.#database.read, team);
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
