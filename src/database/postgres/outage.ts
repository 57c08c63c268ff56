import { timestamp } from "../../timestamp.ts";
import type { Trouble, TroubleListener } from "../disk-trouble.ts";
import { causeOf, explainDatabaseError } from "./errors.ts";

/** How often a database that is away is tried, in milliseconds. */
const retryMs = 1_000;

/** Tracks whether the database takes writes. While it does not, a tiny one is tried every second. */
export class Outage {
  readonly #probe: () => Promise<unknown>;
  readonly #listeners: TroubleListener[] = [];
  #trouble: Trouble | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(probe: () => Promise<unknown>) {
    this.#probe = probe;
  }

  listen(listener: TroubleListener): void {
    this.#listeners.push(listener);
  }

  /** Why nothing can be written, as a sentence; undefined while all is well. */
  failure(): string | undefined {
    return this.#trouble?.reason;
  }

  /** Notes the error of a failed write, and returns the one for its caller. */
  explain(error: unknown): unknown {
    const cause = causeOf(error);
    if (cause !== undefined) this.#begin(cause, error);
    return explainDatabaseError(error);
  }

  /** Makes a tiny write that changes no data. */
  async probe(): Promise<void> {
    await this.#probe();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #begin(cause: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
    if (this.#trouble) return;
    const since = Date.now();
    this.#trouble = {
      kind: "writes",
      reason: `${cause}: nothing can be written since ${timestamp(since)}.`,
      since,
    };
    for (const { onTrouble } of this.#listeners) onTrouble(this.#trouble, error);
  }

  async #retry(): Promise<void> {
    this.#timer = undefined;
    try {
      await this.#probe();
    } catch {
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
      return;
    }
    const trouble = this.#trouble;
    this.#trouble = undefined;
    if (trouble) for (const { onEnd } of this.#listeners) onEnd(trouble);
  }
}
