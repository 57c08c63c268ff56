import type { Connection, Database } from "../database/database.ts";
import { connectionsOf } from "../database/postgres/open.ts";
import { checkOf } from "../input/validation.ts";
import type { Readers } from "../nodes/readers.ts";
import { getSubscription } from "../subscriptions/subscriptions.ts";
import { HeldRequests } from "./held-requests.ts";
import { Horizon } from "./horizon.ts";
import { readPage } from "./page.ts";
import { findPlace } from "./place.ts";
import { askedOf, type EventPage, EventsQuery } from "./schemas.ts";

const checkQuery = checkOf(EventsQuery);

/** How often it is looked for events that nobody told of, on PostgreSQL, while requests are held; in milliseconds. */
const lookMs = 5_000;

/** Whom a request is from. */
export type Reader = {
  teamId: string;
  tokenId: string;
  /** Of the request: aborted when its client has gone. */
  signal: AbortSignal;
  /** Lets the connection be silent for so many milliseconds. */
  beSilentFor: (ms: number) => void;
  /** @throws DomainError `unauthenticated` if the token is no longer valid. */
  requireStillValid: () => unknown;
};

/** The events of subscriptions, for those who read them by themselves. */
export class Feed {
  readonly #database: Database;
  readonly #readers: Readers | undefined;
  readonly #horizon: Horizon;
  readonly #held = new HeldRequests();
  readonly #timer: Timer | undefined;
  /** The horizon at the last look for events that nobody told of. */
  #lookedUpTo = 0;

  /** `readers` are those on all servers of one database. */
  constructor(database: Database, readers?: Readers) {
    this.#readers = readers;
    this.#database = database;
    const connections = connectionsOf(database);
    this.#horizon = new Horizon(connections, () => this.wakeAll());
    database.onWork((subscriptionIds, { hasFanOuts, subscriptionsToRead }) => {
      const all = subscriptionIds.union(subscriptionsToRead);
      // Who gets an event that is fanned out is found out later.
      if (hasFanOuts) this.wakeAll();
      else this.wake(all);
      readers?.tell(all);
    });
    this.#timer = connections && setInterval(() => void this.#lookForUntold(), lookMs);
    this.#timer?.unref();
  }

  /** Lets requests look that wait for events of these subscriptions. */
  wake(subscriptionIds: Iterable<string>): void {
    this.#held.wake(subscriptionIds);
  }

  /** Lets all requests look. */
  wakeAll(): void {
    this.#held.wakeAll();
  }

  /**
   * Returns the next events of the subscription, as the query asks for them; with `wait` once there are any, or without
   * any when the time is over or the server stops.
   * @throws DomainError `not_found`; `invalid` on a parameter; `gone` when the cursor cannot be gone on from;
   *   `rate_limited` when too many requests are held; what `requireStillValid` throws.
   */
  async read(reader: Reader, id: string, query: unknown): Promise<EventPage> {
    const begin = async (db: Connection) => {
      const subscription = await getSubscription(db, reader.teamId, id);
      const asked = askedOf(checkQuery(query));
      return { subscription, asked, place: findPlace(db, subscription, asked.after) };
    };
    let { subscription, place, asked } = await this.#database.ask(begin);
    const { limit, waitMs } = asked;
    using held = waitMs > 0 ? this.#held.hold(subscription.id, reader.tokenId, reader.signal) : undefined;
    if (held) {
      reader.beSilentFor(waitMs);
      this.#readers?.ask(subscription.id);
    }
    const endsAt = performance.now() + waitMs;
    while (true) {
      held?.arm();
      const read = await readPage(
        { database: this.#database, horizon: this.#horizon },
        subscription,
        place,
        limit,
      );
      const { data, meta } = read.page;
      const leftMs = endsAt - performance.now();
      if (!held || leftMs <= 0 || data.length > 0 || !meta.caught_up) return read.page;
      if (!(await held.woken(leftMs))) return read.page;
      await reader.requireStillValid();
      subscription = await this.#database.ask((db) => getSubscription(db, reader.teamId, id));
      place = read.place;
    }
  }

  /** Ends the requests that are held, with what there is. */
  stop(): void {
    clearInterval(this.#timer);
    this.#held.end();
  }

  // Makes up for notices of other nodes that were lost.
  async #lookForUntold(): Promise<void> {
    if (this.#held.isEmpty) return;
    try {
      const now = await this.#horizon.look();
      if (now > this.#lookedUpTo) this.wakeAll();
      this.#lookedUpTo = now;
    } catch {
      // The requests meet the error themselves when they look.
    }
  }
}
