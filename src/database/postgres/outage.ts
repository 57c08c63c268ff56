import { timestamp } from "../../timestamp.ts";
import type { Trouble, TroubleListener } from "../disk-trouble.ts";
import type { Connections } from "./connections.ts";
import { causeOf, explainDatabaseError, isLockTimeout, isOutage, isWithoutStandby } from "./errors.ts";
import { isWaitingForStandby, orNoStandby, waitTrouble } from "./standby-wait.ts";
import { endStuckHolders } from "./stuck-holder.ts";

/** How often a database that is away is tried, in milliseconds. */
const retryMs = 1_000;

/** Tracks whether the database takes writes. While it does not, a tiny one is tried every second. */
export class Outage {
  readonly #connections: Pick<Connections, "query">;
  readonly #probe: () => Promise<unknown>;
  readonly #listeners: TroubleListener[] = [];
  #trouble: Trouble | undefined;
  #hasFailed = false;
  #lacksStandby = false;
  #inFlight: Promise<unknown> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(connections: Pick<Connections, "query">, probe: () => Promise<unknown>) {
    this.#connections = connections;
    this.#probe = probe;
  }

  listen(listener: TroubleListener): void {
    this.#listeners.push(listener);
  }

  /** Why nothing can be written, as a sentence; undefined while all is well. */
  failure(): string | undefined {
    return this.#trouble?.reason;
  }

  /** Notes the error of a failed question or write, and returns the one for its caller. */
  explain(error: unknown): unknown {
    if (isOutage(error)) this.#begin(error);
    return explainDatabaseError(error);
  }

  /** As `explain`, for a commit that failed: looks whether a standby is the reason, or whoever holds the lock. */
  async explainCommit(error: unknown): Promise<unknown> {
    if (isLockTimeout(error)) await endStuckHolders(this.#connections);
    const reason = await orNoStandby(error, this.#connections);
    this.#lacksStandby ||= isWithoutStandby(reason);
    return this.explain(reason);
  }

  /** Whether commits wait for a standby. */
  get lacksStandby(): boolean {
    return this.#lacksStandby;
  }

  /**
   * Call this before a write. While commits wait for a standby, each further one would wait too, and after it was given up
   * it would still take up one of the database's connections.
   * @throws ConnectionTrouble `no_standby`.
   */
  requireStandby(): void {
    if (this.#lacksStandby) throw waitTrouble("no_standby");
  }

  /** Makes a tiny write that changes no data; one for all who ask meanwhile. */
  async probe(): Promise<void> {
    this.#inFlight ??= this.#tryWrite().finally(() => (this.#inFlight = undefined));
    try {
      await this.#inFlight;
    } catch (error) {
      throw await this.explainCommit(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #tryWrite(): Promise<void> {
    if (this.#lacksStandby) this.#lacksStandby = await isWaitingForStandby(this.#connections);
    this.requireStandby();
    await this.#probe();
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
