import type { Connection } from "../database/database.ts";
import { selectAttemptsLogged } from "../deliveries/attempt-store.ts";
import { selectMessagesPosted } from "../messages/store.ts";

/** How many samples are kept: a minute of them, one a second. */
const samplesMax = 60;

type Totals = { at: number; posts: number; attempts: number };

/** Posts and delivery attempts a second, from numbers that only grow. A sample reads two rows. */
export class Rates {
  #last: Totals | undefined;
  readonly #posts: number[] = [];
  readonly #attempts: number[] = [];

  /** Takes a sample; `at` is in milliseconds. The first one only begins. */
  sample(db: Connection, at = performance.now()): void {
    const totals = { at, posts: selectMessagesPosted(db), attempts: selectAttemptsLogged(db) };
    const last = this.#last;
    if (last && at <= last.at) return;
    this.#last = totals;
    if (!last) return;
    const seconds = (at - last.at) / 1_000;
    keep(this.#posts, (totals.posts - last.posts) / seconds);
    keep(this.#attempts, (totals.attempts - last.attempts) / seconds);
  }

  /** Posts a second, the latest last. */
  get posts(): readonly number[] {
    return this.#posts;
  }

  /** Delivery attempts a second, the latest last. */
  get attempts(): readonly number[] {
    return this.#attempts;
  }
}

function keep(rates: number[], rate: number): void {
  rates.push(Math.max(0, rate));
  if (rates.length > samplesMax) rates.shift();
}
