import type { attempts, events, messages } from "./schema.ts";

/** A message without its position, which it is given when it is written. */
export type NewMessage = Omit<typeof messages.$inferSelect, "position">;

/** An event with the subscriptions that it is queued for, due at its `createdAt`. */
export type NewEvent = {
  row: Omit<typeof events.$inferSelect, "seq">;
  /** 0 until it is written. */
  seq: number;
  subscriptionIds: readonly string[];
  /** The subscriptions that only read it. */
  readBy: readonly string[];
};

/** An attempt that has ended: its log entry, and its job. A success ends the job and the subscription's failure streak. */
export type SettledJob = {
  attempt: Omit<typeof attempts.$inferSelect, "seq">;
  /** The number of the log entry; 0 until it is written. */
  seq: number;
  job: { subscriptionId: string; dueAt: number; eventSeq: number };
  /** Undefined after a success. */
  failure: Failure | undefined;
};

/** What a failed attempt changes. */
export type Failure = {
  /** How many attempts at the job were made before. A job that has had another number of them stays as it is. */
  attemptsBefore: number;
  /** When the job is due again; null when it ends. */
  nextDueAt: number | null;
  /** How long a streak disables the subscription; null where the failure does not lengthen the streak. */
  disableAfter: number | null;
  /** The length of the streak with this failure; 0 until it is written, and where it does not lengthen the streak. */
  streak: number;
};

/** How far the queue's clock is ahead, which is stored where the stored one differs by more than the tolerance. */
export type QueueLead = { aheadMs: number; toleranceMs: number };

/** The latest use of a token, in milliseconds since 1970. */
export type TokenUse = { tokenId: string; at: number };

/** The rows of a commit, by kind. */
export type Rows = {
  messages: NewMessage[];
  events: NewEvent[];
  settled: SettledJob[];
  tokenUses: TokenUse[];
  queueLeads: QueueLead[];
};

const none: readonly string[] = [];

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
  readonly queueLeads: QueueLead[] = [];
  /** While set, statements run without these rows being written out first; see `beside`. */
  isLeftAside = false;
  // How many rows of each kind there were before the current call.
  #messages = 0;
  #events = 0;
  #settled = 0;
  #tokenUses = 0;
  #queueLeads = 0;

  get isEmpty(): boolean {
    const { messages, events, settled, tokenUses, queueLeads } = this;
    return messages.length + events.length + settled.length + tokenUses.length + queueLeads.length === 0;
  }

  /** Whether the current call has put rows down that are not written yet. */
  get hasRowsOfCall(): boolean {
    return (
      this.messages.length > this.#messages ||
      this.events.length > this.#events ||
      this.settled.length > this.#settled ||
      this.tokenUses.length > this.#tokenUses ||
      this.queueLeads.length > this.#queueLeads
    );
  }

  /** The subscriptions of which the current call has settled attempts. */
  get subscriptionsOfCall(): readonly string[] {
    if (this.settled.length === this.#settled) return none;
    return this.settled.slice(this.#settled).map(({ job }) => job.subscriptionId);
  }

  /** From now on rows belong to the next call. */
  beginCall(): void {
    this.#messages = this.messages.length;
    this.#events = this.events.length;
    this.#settled = this.settled.length;
    this.#tokenUses = this.tokenUses.length;
    this.#queueLeads = this.queueLeads.length;
  }

  /** Drops the rows of the current call, except for those that were taken. */
  undoCall(): void {
    this.messages.length = this.#messages;
    this.events.length = this.#events;
    this.settled.length = this.#settled;
    this.tokenUses.length = this.#tokenUses;
    this.queueLeads.length = this.#queueLeads;
  }

  /** Removes all rows and returns them. */
  takeAll(): Rows {
    const rows: Rows = {
      messages: this.messages.splice(0),
      events: this.events.splice(0),
      settled: this.settled.splice(0),
      tokenUses: this.tokenUses.splice(0),
      queueLeads: this.queueLeads.splice(0),
    };
    this.beginCall();
    return rows;
  }
}
