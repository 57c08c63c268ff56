import type { Connection } from "../database/database.ts";
import { selectAttemptsLogged } from "../deliveries/attempt-store.ts";
import { selectMessagesPosted } from "../messages/store.ts";

/** How many samples are kept: a minute of them, one a second. */
const samplesMax = 60;

/** The messages posted and the delivery attempts made so far. */
type Totals = { posts: number; attempts: number };

/** The totals now. Reads two rows. */
export function selectTotals(db: Connection): Totals {
  return { posts: selectMessagesPosted(db), attempts: selectAttemptsLogged(db) };
}

/** Posts and delivery attempts a second, from numbers that only grow. */
export class Rates {
  #last: (Totals & { at: number }) | undefined;
  readonly #posts: number[] = [];
  readonly #attempts: number[] = [];

  /** Takes the totals of the moment `at`, in milliseconds. The first ones only begin. */
  sample(totals: Totals, at = performance.now()): void {
    const last = this.#last;
    if (last && at <= last.at) return;
    this.#last = { ...totals, at };
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
