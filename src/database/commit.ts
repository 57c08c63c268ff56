import { Appended } from "./appended.ts";

/** State shared by the calls of one commit while its transaction is open. Each transaction gets a new instance. */
export class Commit {
  /** What the calls have put down to be written together. */
  readonly appended = new Appended();
  /** Subscriptions with new work. The worker is notified after the commit. */
  readonly subscriptionsWithWork = new Set<string>();
  /** Subscriptions that only read their events and have a new one. */
  readonly subscriptionsToRead = new Set<string>();
  /** Whether a stored event still has to be fanned out. The fan-out loop is notified after the commit. */
  hasFanOuts = false;
  /**
   * Whether events are put down as if none were still being fanned out, which the engine finds out when it writes them:
   * nearly always there is none, and a look would cost each commit a round trip.
   */
  presumesNoFanOuts = false;
  /**
   * Whether failed attempts are put down as if none disabled its subscription, or had been written before, which the
   * engine finds out when it writes them. What disables one takes statements.
   */
  presumesNoneDisables = false;
  /** The `traceparent` of the current call, which its events are stored with; null while traces are off. */
  traceparent: string | null = null;
  /**
   * Whether the current call has changed anything by a statement. If it throws before that, dropping the rows that it
   * has put down undoes it.
   */
  hasChanged = false;

  /** Whether it has anything to announce. */
  get hasNews(): boolean {
    return this.subscriptionsWithWork.size > 0 || this.subscriptionsToRead.size > 0 || this.hasFanOuts;
  }

  /** Adds the work that another commit has to announce. */
  include({ subscriptionsWithWork, subscriptionsToRead, hasFanOuts }: Commit): void {
    for (const id of subscriptionsWithWork) this.subscriptionsWithWork.add(id);
    for (const id of subscriptionsToRead) this.subscriptionsToRead.add(id);
    this.hasFanOuts ||= hasFanOuts;
  }
}
