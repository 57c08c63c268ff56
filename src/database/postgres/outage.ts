import { timestamp } from "../../timestamp.ts";
import type { Trouble, TroubleListener } from "../disk-trouble.ts";
import { causeOf, explainDatabaseError, isOutage } from "./errors.ts";

/** How often a database that is away is tried, in milliseconds. */
const retryMs = 1_000;

/** Tracks whether the database takes writes. While it does not, a tiny one is tried every second. */
export class Outage {
  readonly #probe: () => Promise<unknown>;
  readonly #listeners: TroubleListener[] = [];
  #trouble: Trouble | undefined;
  #hasFailed = false;
  #inFlight: Promise<unknown> | undefined;
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
    if (isOutage(error)) this.#begin(error);
    return explainDatabaseError(error);
  }

  /** Makes a tiny write that changes no data; one for all who ask meanwhile. */
  async probe(): Promise<void> {
    this.#inFlight ??= this.#probe().finally(() => (this.#inFlight = undefined));
    try {
      await this.#inFlight;
    } catch (error) {
      throw this.explain(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #begin(error: unknown): void {
    if (this.#isClosed) return;
    this.#hasFailed = true;
    this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
    if (this.#trouble) return;
    const since = Date.now();
    this.#trouble = {
      kind: "writes",
      reason: `${causeOf(error)}: nothing can be written since ${timestamp(since)}.`,
      since,
    };
    for (const { onTrouble } of this.#listeners) onTrouble(this.#trouble, error);
  }

  // On a nearly full disk small writes succeed where larger ones fail, so the database counts as well again only if
  // nothing has failed between two attempts.
  async #retry(): Promise<void> {
    this.#timer = undefined;
    const hadFailed = this.#hasFailed;
    this.#hasFailed = false;
    await this.probe().catch(() => {});
    if (hadFailed || this.#hasFailed) {
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
      return;
    }
    const trouble = this.#trouble;
    this.#trouble = undefined;
    if (trouble) for (const { onEnd } of this.#listeners) onEnd(trouble);
  }
}
