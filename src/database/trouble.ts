import { timestamp } from "../timestamp.ts";
import type { ChangeLog } from "./change-log.ts";
import { causeOf } from "./write-errors.ts";

/** How often the log of changes is looked at while there are commits, and what fails tried again, in milliseconds. */
const lookEveryMs = 1_000;

/** A log of changes of this size is looked into, in bytes: four times what it is let grow to. */
const logBytesWorrying = 16 * 1_024 * 1_024;

const frameBytes = 4_096;

/** What may be wrong with the files: a failing write, a failing checkpoint, somebody who reads for so long that none can end. */
export type TroubleKind = "writes" | "checkpoints" | "reader";

/** Something that is wrong with the files. */
export type Trouble = {
  kind: TroubleKind;
  /** For the operator, as a sentence. */
  reason: string;
  /** In milliseconds since 1970. */
  since: number;
};

/** Who is told: once when a trouble begins, with the error if there is one, and once when it is over. */
export type TroubleListener = {
  onTrouble: (trouble: Trouble, error: unknown) => void;
  onEnd: (trouble: Trouble) => void;
};

/**
 * Knows how the last write and the last checkpoint ended. While all is well that costs a look at the clock per commit,
 * and one at the log's size per second with commits. While something fails, a tiny write is tried every second, so that
 * what is over is known without a request that would find out.
 */
export class Troubles {
  readonly #log: ChangeLog;
  readonly #tryWriting: () => Promise<unknown>;
  readonly #present = new Map<TroubleKind, Trouble>();
  readonly #listeners: TroubleListener[] = [];
  #hasWriteFailed = false;
  #nextLookAt = 0;
  #nextTry: Timer | undefined;
  #isClosed = false;

  constructor(log: ChangeLog, tryWriting: () => Promise<unknown>) {
    this.#log = log;
    this.#tryWriting = tryWriting;
  }

  listen(listener: TroubleListener): void {
    this.#listeners.push(listener);
  }

  /** The sentence that says why nothing can be written, or no checkpoint made; undefined while both work. */
  failure(): string | undefined {
    return (this.#present.get("writes") ?? this.#present.get("checkpoints"))?.reason;
  }

  /** To be told of each write that fails. */
  writeFailed(error: unknown): void {
    const cause = causeOf(error);
    if (cause === undefined) return;
    this.#hasWriteFailed = true;
    this.#begin("writes", (since) => `${cause}: nothing can be written since ${since}.`, error);
  }

  /** To be told of each commit, outside of any transaction. */
  committed(): void {
    const now = performance.now();
    if (now < this.#nextLookAt) return;
    this.#nextLookAt = now + lookEveryMs;
    this.#lookAtLog();
  }

  /** Tries nothing any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#nextTry);
  }

  // A checkpoint that fails shows in the log, which grows; why, the next one says.
  #lookAtLog(): void {
    const { bytes } = this.#log;
    if (bytes <= logBytesWorrying) {
      this.#end("checkpoints");
      this.#end("reader");
      return;
    }
    const size = `${Math.round(bytes / 1_024 / 1_024)} MiB`;
    try {
      const { log, checkpointed } = this.#log.bringIn() ?? { log: 0, checkpointed: 0 };
      this.#end("checkpoints");
      if ((log - checkpointed) * frameBytes <= logBytesWorrying) return this.#end("reader");
      const said = `A process has been reading the database for so long that parley.db-wal has grown to ${size}.`;
      this.#begin("reader", () => said);
    } catch (error) {
      const cause = causeOf(error) ?? String(error);
      const said = (since: string) =>
        `${cause}: since ${since} nothing can be moved from parley.db-wal, which has grown to ${size}, to parley.db.`;
      this.#begin("checkpoints", said, error);
    }
  }

  #begin(kind: TroubleKind, reason: (since: string) => string, error?: unknown): void {
    this.#tryAgainLater();
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

  #tryAgainLater(): void {
    if (this.#isClosed) return;
    this.#nextTry ??= setTimeout(() => void this.#tryAgain(), lookEveryMs).unref();
  }

  // On a disk that is nearly full, small writes work where larger ones fail: writing works again when nothing has failed
  // from one try to the next.
  async #tryAgain(): Promise<void> {
    const hasFailedMeanwhile = this.#hasWriteFailed;
    this.#hasWriteFailed = false;
    await this.#tryWriting().catch(() => {});
    if (!hasFailedMeanwhile && !this.#hasWriteFailed) this.#end("writes");
    this.#nextTry = undefined;
    if (this.#present.size > 0) this.#tryAgainLater();
  }
}
