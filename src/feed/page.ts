import type { Connection, Database } from "../database/database.ts";
import { isForCreator } from "../outbox/creator-visibility.ts";
import { cursorOf, markOf, type Place } from "../outbox/cursor.ts";
import { envelopeOf } from "../outbox/envelope.ts";
import type { SubscriptionRow } from "../subscriptions/store.ts";
import type { Horizon } from "./horizon.ts";
import type { Envelope, EventPage } from "./schemas.ts";
import { type LookedAt, selectNextEvents } from "./store.ts";

/** How many events one question looks at: half a millisecond, so that other requests do not wait for longer. */
const eventsPerLook = 200;

/** How many events are looked at for one page, so that also one of few events ends soon. */
const lookedAtMax = 10_000;

/** After so much text a page ends, in UTF-16 code units. */
const textMax = 1_048_576;

/**
 * Reads the events of the subscription after a place. What it costs depends on how many are looked at, at most
 * `lookedAtMax`, and not on where they are. Returns the place that it came to as well.
 */
export async function readPage(
  { database, horizon }: { database: Database; horizon: Horizon },
  subscription: SubscriptionRow,
  from: Place,
  limit: number,
): Promise<{ page: EventPage; place: Place }> {
  const data: EventPage["data"] = [];
  let place = from;
  let last = horizon.known;
  let isUpToNow = horizon.isUpToNow;
  let text = 0;
  for (let looked = 0, first = Math.min(limit, eventsPerLook); ; first = eventsPerLook) {
    const range = { after: place.seq, last, limit: first };
    const found = await database.ask((db) => look(db, subscription, range));
    for (const event of found) {
      place = { seq: event.seq, mark: markOf(event.id) };
      if (event.data === null) continue;
      const envelope = envelopeOf({ ...event, data: event.data });
      data.push({ cursor: cursorOf(place), event: JSON.parse(envelope) as Envelope });
      text += envelope.length;
      if (data.length === limit || text >= textMax) return end(false);
    }
    looked += found.length;
    if (found.length < first) {
      if (isUpToNow) return end(true);
      // What lies before the known horizon needs no look at commits.
      last = await horizon.look();
      isUpToNow = true;
    }
    if (looked >= lookedAtMax) return end(false);
    // Other requests have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  function end(isCaughtUp: boolean) {
    return { page: { data, meta: { next: cursorOf(place), caught_up: isCaughtUp } }, place };
  }
}

/** The events of the range, without the data of those that the subscription or its creator does not see. */
function look(
  db: Connection,
  subscription: SubscriptionRow,
  range: Parameters<typeof selectNextEvents>[2],
): LookedAt[] {
  const found = selectNextEvents(db, subscription.id, range);
  if (db.webhooksVisibility === "workspace") return found;
  return found.map((event) => (isSeen(db, subscription, event) ? event : { ...event, data: null }));
}

/** Whether the creator sees the channel now, and did when the event happened. */
function isSeen(db: Connection, subscription: SubscriptionRow, { data, createdAt }: LookedAt): boolean {
  if (data === null) return false;
  const { channel_id: channelId } = JSON.parse(data) as { channel_id: string };
  return isForCreator(db, subscription, channelId) && isForCreator(db, subscription, channelId, createdAt);
}
