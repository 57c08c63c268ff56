import { expect } from "bun:test";
import type { CrashCopy } from "./crash-copy.ts";
import type { Subscribed } from "./subscribed.ts";

/**
 * How many attempts one subscription can have in flight (decisions on outgoing deliveries: its share of the
 * concurrency).
 */
const inFlightMax = 20;

/**
 * Compares the log of attempts with the requests that the receivers counted. Each request has its attempt in the log,
 * except those that were in flight when the server was killed, which are still queued.
 */
export class Ledger {
  readonly #subscribed: readonly Subscribed[];
  /** How many requests of each subscription and event are missing in the log because of a crash. */
  readonly #lost = new Map<string, number>();

  constructor(subscribed: readonly Subscribed[]) {
    this.#subscribed = subscribed;
  }

  /** How many requests are missing in the log so far because of crashes. */
  get lost(): number {
    return [...this.#lost.values()].reduce((sum, lost) => sum + lost, 0);
  }

  /** Attributes what is missing in the log to the latest crash. Call it after each crash, with nothing running. */
  async closeAfterCrash(copy: CrashCopy): Promise<void> {
    const queued = await copy.queued();
    for (const [subscription, missing] of await this.#missing(copy)) {
      expect(missing.length, `requests of ${subscription} that are not in the log`).toBeLessThanOrEqual(
        inFlightMax,
      );
      for (const [pair, count] of missing) {
        expect([pair, count, queued.has(pair)]).toEqual([pair, 1, true]);
        this.#lost.set(pair, (this.#lost.get(pair) ?? 0) + 1);
      }
    }
  }

  /** Expects that no request is missing except those lost in crashes. */
  async expectBalanced(copy: CrashCopy): Promise<void> {
    const missing = await this.#missing(copy);
    expect([...missing.values()].flat()).toEqual([]);
  }

  /** The pairs of subscription and event whose requests and logged attempts differ unexpectedly, and by how many. */
  async #missing(copy: CrashCopy): Promise<Map<string, Array<[pair: string, count: number]>>> {
    const attempts = await copy.attempts();
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
