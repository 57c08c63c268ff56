import { DomainError } from "../errors.ts";

/** How many requests may be held at once: for one token, and together. */
const heldOfTokenMax = 20;
const heldMax = 1_000;

/** A request that waits for an event of a subscription. */
export type Held = Disposable & {
  /** From now on an event wakes it, also one before the next `woken`. */
  arm: () => void;
  /** Resolves to whether it may go on waiting, once there may be an event, after `ms` milliseconds, or at the end. */
  woken: (ms: number) => Promise<boolean>;
};

/** The requests that wait for events. */
export class HeldRequests {
  readonly #ofSubscriptions = new Map<string, Set<() => void>>();
  readonly #ofTokens = new Map<string, number>();
  #count = 0;
  #isEnded = false;

  /**
   * Holds a request of the token, until it is disposed of.
   * @throws DomainError `rate_limited` when too many are held.
   */
  hold(subscriptionId: string, tokenId: string, signal: AbortSignal): Held {
    const ofToken = this.#ofTokens.get(tokenId) ?? 0;
    if (ofToken >= heldOfTokenMax)
      throw tooMany(`This token has ${ofToken} requests with \`wait\` under way, which is the most.`);
    if (this.#count >= heldMax) throw tooMany("The server holds as many requests with `wait` as it can.");
    this.#count++;
    this.#ofTokens.set(tokenId, ofToken + 1);
    const others = this.#ofSubscriptions.get(subscriptionId) ?? new Set();
    this.#ofSubscriptions.set(subscriptionId, others);
    let called = Promise.withResolvers<void>();
    const wake = () => called.resolve();
    others.add(wake);
    signal.addEventListener("abort", wake);
    return {
      arm: () => void (called = Promise.withResolvers()),
      woken: async (ms) => {
        if (!this.#isEnded && !signal.aborted) {
          const timer = setTimeout(wake, ms);
          await called.promise;
          clearTimeout(timer);
        }
        return !this.#isEnded && !signal.aborted;
      },
      [Symbol.dispose]: () => {
        signal.removeEventListener("abort", wake);
        others.delete(wake);
        if (others.size === 0 && this.#ofSubscriptions.get(subscriptionId) === others)
          this.#ofSubscriptions.delete(subscriptionId);
        this.#count--;
        const left = (this.#ofTokens.get(tokenId) ?? 1) - 1;
        if (left > 0) this.#ofTokens.set(tokenId, left);
        else this.#ofTokens.delete(tokenId);
      },
    };
  }

  /** Wakes those that wait for events of these subscriptions. */
  wake(subscriptionIds: Iterable<string>): void {
    if (this.#count === 0) return;
    for (const id of subscriptionIds) for (const wake of this.#ofSubscriptions.get(id) ?? []) wake();
  }

  /** Wakes all. */
  wakeAll(): void {
    this.wake(this.#ofSubscriptions.keys());
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Holds nothing any longer. */
  end(): void {
    this.#isEnded = true;
    this.wakeAll();
  }
}

function tooMany(reason: string): DomainError {
  return new DomainError("rate_limited", `${reason} Try again in 5 s, or without \`wait\`.`, {
    headers: { "retry-after": "5" },
  });
}
