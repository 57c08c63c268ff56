import type { Connection } from "../database/database.ts";
import { query } from "../database/prepared.ts";
import type { StoredEvent } from "../outbox/envelope.ts";

/** An event that was looked at; `data` is null where it is not for the subscription. */
export type LookedAt = Omit<StoredEvent, "data"> & { seq: number; data: string | null };

// A filter for every channel names none, so the team is that of the event's channel.
const nextStatement = (channelId: string) => `
  SELECT seq, id, type, created_at AS "createdAt",
    CASE WHEN EXISTS (
      SELECT 1 FROM channels JOIN subscription_filters AS filters ON filters.team_id = channels.team_id
      WHERE channels.id = ${channelId} AND filters.event_type = events.type
        AND filters.channel_id IN ('', channels.id) AND filters.subscription_id = cast(? AS text)
    ) THEN data END AS data
  FROM events
  WHERE seq > cast(? AS bigint) AND seq <= cast(? AS bigint)
  ORDER BY seq LIMIT cast(? AS bigint)`;

const nextEventsStatement = query<LookedAt, [string, number, number, number]>({
  sqlite: nextStatement("events.data ->> 'channel_id'"),
  postgres: nextStatement("cast(events.data AS json) ->> 'channel_id'"),
});

/** Returns the next events after `after`, up to `last`, at most `limit`, whether they are for the subscription or not. */
export function selectNextEvents(
  db: Connection,
  subscriptionId: string,
  { after, last, limit }: { after: number; last: number; limit: number },
): LookedAt[] {
  return nextEventsStatement(db).all(subscriptionId, after, last, limit);
}

/** What is known about a number of an event. */
export type Whereabouts = {
  /** The id of the event; null if it is not stored. */
  id: string | null;
  /** The newest event that was deleted by its age; 0 and the empty string before the first. */
  deletedSeq: number;
  deletedId: string;
};

const whereaboutsStatement = query<Whereabouts, [number]>(
  `SELECT (SELECT id FROM events WHERE seq = cast(? AS bigint)) AS id, last_seq AS "deletedSeq", last_id AS "deletedId"
   FROM deleted_events WHERE id = 1`,
);

/** Returns what is known about the event of this number, and about those that were deleted. */
export function selectWhereabouts(db: Connection, seq: number): Whereabouts {
  return whereaboutsStatement(db).get(seq) ?? { id: null, deletedSeq: 0, deletedId: "" };
}
