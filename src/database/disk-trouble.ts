import { timestamp } from "../timestamp.ts";
import type { WriteAheadLog } from "./write-ahead-log.ts";
import { causeOf } from "./write-errors.ts";

/**
 * How often the size of the WAL is checked while there are commits, and failing operations are retried, in
 * milliseconds.
 */
const checkIntervalMs = 1_000;

/** The size in bytes above which the WAL is examined: four times the size at which it is checkpointed. */
const logBytesAlarming = 16 * 1_024 * 1_024;

const frameBytes = 4_096;

/**
 * What can be wrong with the files: writes fail, checkpoints fail, or a reader lasts so long that no checkpoint can
 * complete.
 */
export type TroubleKind = "writes" | "checkpoints" | "reader";

/** A problem with the files. */
export type Trouble = {
  kind: TroubleKind;
  /** A sentence for the operator. */
  reason: string;
  /** In milliseconds since 1970. */
  since: number;
};

/** `onTrouble` is called once when a problem begins, with the error if there is one; `onEnd` once when it is over. */
export type TroubleListener = {
  onTrouble: (trouble: Trouble, error: unknown) => void;
  onEnd: (trouble: Trouble) => void;
};

/**
 * Tracks whether writes and checkpoints work. When they do, this costs a clock read per commit, and a look at the size
 * of the WAL per second with commits. While something fails, a tiny write is attempted every second, so that recovery
 * is noticed without waiting for a request.
 */
export class Troubles {
  readonly #log: WriteAheadLog;
  readonly #probeWrite: () => Promise<unknown>;
  readonly #present = new Map<TroubleKind, Trouble>();
  readonly #listeners: TroubleListener[] = [];
  #hasWriteFailed = false;
  #nextCheckAt = 0;
  #retryTimer: Timer | undefined;
  #isClosed = false;

  constructor(log: WriteAheadLog, probeWrite: () => Promise<unknown>) {
    this.#log = log;
    this.#probeWrite = probeWrite;
  }

  listen(listener: TroubleListener): void {
    this.#listeners.push(listener);
  }

  /** Why writes or checkpoints fail, as a sentence; undefined while both work. */
  failure(): string | undefined {
    return (this.#present.get("writes") ?? this.#present.get("checkpoints"))?.reason;
  }

  /** Call this with the error of each failed write. */
  writeFailed(error: unknown): void {
    const cause = causeOf(error);
    if (cause === undefined) return;
    this.#hasWriteFailed = true;
    this.#begin("writes", (since) => `${cause}: nothing can be written since ${since}.`, error);
  }

  /** Call this after each commit, outside of any transaction. */
  committed(): void {
    const now = performance.now();
    if (now < this.#nextCheckAt) return;
    this.#nextCheckAt = now + checkIntervalMs;
    this.#checkLog();
  }

  /** Stops retrying. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
  }

  // A failing checkpoint lets the WAL grow; running another one reveals the error.
  #checkLog(): void {
    const { bytes } = this.#log;
    if (bytes <= logBytesAlarming) {
      this.#end("checkpoints");
      this.#end("reader");
      return;
    }
    const size = `${Math.round(bytes / 1_024 / 1_024)} MiB`;
    try {
      const { log, checkpointed } = this.#log.checkpoint() ?? { log: 0, checkpointed: 0 };
      this.#end("checkpoints");
      if ((log - checkpointed) * frameBytes <= logBytesAlarming) return this.#end("reader");
      const sentence = `A process has been reading the database for so long that parley.db-wal has grown to ${size}.`;
      this.#begin("reader", () => sentence);
    } catch (error) {
      const cause = causeOf(error) ?? String(error);
      const sentence = (since: string) =>
        `${cause}: parley.db-wal has not been checkpointed into parley.db since ${since} and has grown to ${size}.`;
      this.#begin("checkpoints", sentence, error);
    }
  }

  #begin(kind: TroubleKind, reason: (since: string) => string, error?: unknown): void {
    this.#scheduleRetry();
    if (this.#present.has(kind)) return;
    const since = Date.now();
    const trouble = { kind, reason: reason(timestamp(since)), since };
    this.#present.set(kind, trouble);
    for (const { onTrouble } of this.#listeners) onTrouble(trouble, error);
  }

  #end(kind: TroubleKind): void {
    const trouble = this.#present.get(kind);
    if (!trouble) return;
    this.#present.delete(kind);
    for (const { onEnd } of this.#listeners) onEnd(trouble);
  }

  #scheduleRetry(): void {
    if (this.#isClosed) return;
    this.#retryTimer ??= setTimeout(() => void this.#retry(), checkIntervalMs).unref();
  }

  // On a nearly full disk small writes succeed where larger ones fail, so writing counts as working again only if
  // nothing has failed between two attempts.
  async #retry(): Promise<void> {
    const hadFailed = this.#hasWriteFailed;
    this.#hasWriteFailed = false;
    await this.#probeWrite().catch(() => {});
    if (!hadFailed && !this.#hasWriteFailed) this.#end("writes");
    this.#retryTimer = undefined;
    if (this.#present.size > 0) this.#scheduleRetry();
  }
}
