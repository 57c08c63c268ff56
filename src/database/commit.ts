/** What the calls that share a commit have in common while their transaction is open; each transaction has a new one. */
export class Commit {
  /** The subscriptions that get new work: after the commit, and only then, the worker is told. */
  readonly subscriptionsWithWork = new Set<string>();
  /** Whether an event was stored that is still to be queued: after the commit, and only then, the fan-out is told. */
  hasFanOuts = false;
  /** Whether the call under way has changed anything yet; one that throws before that leaves nothing to undo. */
  hasChanged = false;
  #lastSteps: Array<() => void> = [];

  /** Puts a change off to the end of the transaction, where it is made once for all calls. */
  beforeCommit(step: () => void): void {
    this.#lastSteps.push(step);
  }

  /** Makes the changes that were put off. */
  end(): void {
    for (const step of this.#lastSteps.splice(0)) step();
  }
}
