/** State shared by the calls of one commit while its transaction is open. Each transaction gets a new instance. */
export class Commit {
  /** Subscriptions with new work. The worker is notified after the commit. */
  readonly subscriptionsWithWork = new Set<string>();
  /** Whether a stored event still has to be fanned out. The fan-out loop is notified after the commit. */
  hasFanOuts = false;
  /** The `traceparent` of the current call, which its events are stored with; null while traces are off. */
  traceparent: string | null = null;
  /** Whether the current call has changed anything. A call that throws before that leaves nothing to undo. */
  hasChanged = false;
  #deferred: Array<() => void> = [];

  /** Defers a change to the end of the transaction, where it is made once for all calls. */
  beforeCommit(step: () => void): void {
    this.#deferred.push(step);
  }

  /** Makes the deferred changes. */
  runDeferred(): void {
    for (const step of this.#deferred.splice(0)) step();
  }
}
