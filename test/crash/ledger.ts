import { expect } from "bun:test";
import type { CrashCopy } from "./crash-copy.ts";
import type { WildReceiver } from "../support/receivers/wild-receiver.ts";

/** A receiver with the subscription that leads to it and what that asks for. */
export type Subscribed = {
  receiver: WildReceiver;
  id: string;
  events: readonly string[];
  channelIds: readonly string[] | null;
};

/** How many attempts one subscription can have in flight (decisions on outgoing deliveries: its share of the concurrency). */
const inFlightMax = 20;

/**
 * Holds the log of attempts against the requests that the receivers counted. Each request has its attempt in the log, but
 * for those that were in flight when the server was killed, and they are still queued.
 */
export class Ledger {
  readonly #subscribed: readonly Subscribed[];
  /** How many requests of each subscription and event the crashes have kept out of the log. */
  readonly #lost = new Map<string, number>();

  constructor(subscribed: readonly Subscribed[]) {
    this.#subscribed = subscribed;
  }

  /** How many requests the crashes have kept out of the log so far. */
  get lost(): number {
    return [...this.#lost.values()].reduce((sum, lost) => sum + lost, 0);
  }

  /** Takes what is missing in the log for lost in the crash that just was. Call it after each, with nothing running. */
  closeAfterCrash(copy: CrashCopy): void {
    const queued = copy.queued();
    for (const [subscription, missing] of this.#missing(copy)) {
      expect(missing.length, `requests of ${subscription} that are not in the log`).toBeLessThanOrEqual(
        inFlightMax,
      );
      for (const [pair, count] of missing) {
        expect([pair, count, queued.has(pair)]).toEqual([pair, 1, true]);
        this.#lost.set(pair, (this.#lost.get(pair) ?? 0) + 1);
      }
    }
  }

  /** Expects that no request is missing but for those lost in crashes. */
  expectBalanced(copy: CrashCopy): void {
    expect([...this.#missing(copy).values()].flat()).toEqual([]);
  }

  /** For each subscription the pairs whose requests and logged attempts differ by more than is known, and by how many. */
  #missing(copy: CrashCopy): Map<string, Array<[pair: string, count: number]>> {
    const attempts = copy.attempts();
    const missing = this.#subscribed.map(({ id, receiver }) => {
      const differences = [...receiver.delivered].map(([event, { requests }]): [string, number] => {
        const pair = `${id} ${event}`;
        const accounted = (attempts.get(pair) ?? 0) + (this.#lost.get(pair) ?? 0);
        attempts.delete(pair);
        return [pair, requests - accounted];
      });
      return [id, differences.filter(([, count]) => count !== 0)] as const;
    });
    expect([...attempts.keys()], "attempts that no receiver knows of").toEqual([]);
    return new Map(missing);
  }
}
