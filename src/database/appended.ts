import type { attempts, events, messages } from "./schema.ts";

/** A message without its position, which it is given when it is written. */
export type NewMessage = Omit<typeof messages.$inferSelect, "position">;

/** An event with the subscriptions that it is queued for, due at its `createdAt`. */
export type NewEvent = {
  row: Omit<typeof events.$inferSelect, "seq">;
  /** 0 until it is written. */
  seq: number;
  subscriptionIds: readonly string[];
};

/** A successful attempt: its log entry, and the job that it ends together with the subscription's failure streak. */
export type SettledJob = {
  attempt: Omit<typeof attempts.$inferSelect, "seq">;
  /** The number of the log entry; 0 until it is written. */
  seq: number;
  job: { subscriptionId: string; dueAt: number; eventSeq: number };
};

/** The latest use of a token, in milliseconds since 1970. */
export type TokenUse = { tokenId: string; at: number };

/** The rows of a commit, by kind. */
export type Rows = {
  messages: NewMessage[];
  events: NewEvent[];
  settled: SettledJob[];
  tokenUses: TokenUse[];
};

/**
 * What the calls of a commit put down instead of running statements, each kind in the order of the calls: the engine
 * writes the rows of all calls together at the commit's end, or before the next statement. This is what is written
 * with every message and every delivery, so that a statement or a round trip serves many of them.
 */
export class Appended {
  readonly messages: NewMessage[] = [];
  readonly events: NewEvent[] = [];
  readonly settled: SettledJob[] = [];
  readonly tokenUses: TokenUse[] = [];
  /** While set, statements run without these rows being written out first; see `beside`. */
  isLeftAside = false;
  // How many rows of each kind there were before the current call.
  #messages = 0;
  #events = 0;
  #settled = 0;
  #tokenUses = 0;

  get isEmpty(): boolean {
    return this.messages.length + this.events.length + this.settled.length + this.tokenUses.length === 0;
  }

  /** Whether the current call has put rows down that are not written yet. */
  get hasRowsOfCall(): boolean {
    return (
      this.messages.length > this.#messages ||
      this.events.length > this.#events ||
      this.settled.length > this.#settled ||
      this.tokenUses.length > this.#tokenUses
    );
  }

  /** From now on rows belong to the next call. */
  beginCall(): void {
    this.#messages = this.messages.length;
    this.#events = this.events.length;
    this.#settled = this.settled.length;
    this.#tokenUses = this.tokenUses.length;
  }

  /** Drops the rows of the current call, except for those that were taken. */
  undoCall(): void {
    this.messages.length = this.#messages;
    this.events.length = this.#events;
    this.settled.length = this.#settled;
    this.tokenUses.length = this.#tokenUses;
  }

  /** Removes all rows and returns them. */
  takeAll(): Rows {
    const rows: Rows = {
      messages: this.messages.splice(0),
      events: this.events.splice(0),
      settled: this.settled.splice(0),
      tokenUses: this.tokenUses.splice(0),
    };
    this.beginCall();
    return rows;
  }
}
