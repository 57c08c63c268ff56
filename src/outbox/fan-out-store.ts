import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import type { Waiting } from "./job-store.ts";

/** An event that is not yet queued for all of its subscriptions. */
export type FanOut = {
  teamId: string;
  eventSeq: number;
  type: string;
  /** In milliseconds since 1970. */
  happenedAt: number;
  channelId: string;
  /**
   * The channel whose filters are being processed: first those for every channel (the empty string), then those for
   * `channelId`.
   */
  afterChannel: string;
  /** The last subscription processed among those filters; the empty string before the first. */
  afterSubscription: string;
};

/** The key of a fan-out. */
export type FanOutKey = Pick<FanOut, "teamId" | "eventSeq">;

const insertStatement = change<[string, number, string]>(
  "INSERT INTO fan_outs (team_id, event_seq, channel_id) VALUES (?, ?, ?)",
);

export function insertFanOut(
  tx: Transaction,
  { teamId, eventSeq, channelId }: Pick<FanOut, "teamId" | "eventSeq" | "channelId">,
): void {
  insertStatement(tx, teamId, eventSeq, channelId);
}

// Every id is greater than the empty string, so that SQLite uses the index. PostgreSQL does for the sake of the order;
// without it a search may read a table that seems to have many rows of the kind.
const anyStatement = query<object, []>("SELECT 1 FROM fan_outs WHERE team_id > '' ORDER BY team_id LIMIT 1");

/** Whether any team has a fan-out. */
export function hasAnyFanOut(db: Connection): boolean {
  return anyStatement(db).get() !== null;
}

const ofTeamExistsStatement = query<object, [string]>(
  "SELECT 1 FROM fan_outs WHERE team_id = ? ORDER BY event_seq LIMIT 1",
);

/** Whether the team has a fan-out. */
export function hasFanOutOfTeam(db: Connection, teamId: string): boolean {
  return ofTeamExistsStatement(db).get(teamId) !== null;
}

const earliest = (condition: string) =>
  `SELECT fan_outs.team_id AS "teamId", fan_outs.event_seq AS "eventSeq", events.type, events.created_at AS "happenedAt",
     fan_outs.channel_id AS "channelId", fan_outs.after_channel AS "afterChannel",
     fan_outs.after_subscription AS "afterSubscription"
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   WHERE ${condition} ORDER BY fan_outs.team_id, fan_outs.event_seq LIMIT 1`;

const ofTeamStatement = query<FanOut, [string]>(earliest("fan_outs.team_id = cast(? AS text)"));

/** The team's earliest fan-out. */
export function selectFanOut(db: Connection, teamId: string): FanOut | undefined {
  return ofTeamStatement(db).get(teamId) ?? undefined;
}

const nextStatement = query<FanOut, [string]>(earliest("fan_outs.team_id > cast(? AS text)"));

/** The earliest fan-out of the next team after the given one, starting over from the first team at the end. */
export function selectNextFanOut(db: Connection, afterTeam: string): FanOut | undefined {
  return nextStatement(db).get(afterTeam) ?? nextStatement(db).get("") ?? undefined;
}

const upToStatement = query<{ teamId: string }, [number]>(
  'SELECT team_id AS "teamId" FROM fan_outs WHERE event_seq <= ? LIMIT 1',
);

/** A team with a fan-out of an event that is not after the given one; undefined when there is none. */
export function selectTeamWithFanOut(db: Connection, lastEvent: number): string | undefined {
  return upToStatement(db).get(lastEvent)?.teamId;
}

const nextSubscriptionsStatement = query<{ id: string }, [string, string, string, string, number, number]>(
  `SELECT subscription_id AS id FROM subscription_filters
   WHERE team_id = ? AND event_type = ? AND channel_id = ? AND subscription_id > ? AND after_event < ?
     AND is_only_read = 0
   ORDER BY subscription_id LIMIT ?`,
);

/** The next subscriptions to send it to, at most `limit`: those that existed when the event happened and still do. */
export function selectNextSubscriptions(
  db: Connection,
  { teamId, type, afterChannel, afterSubscription, eventSeq }: FanOut,
  limit: number,
): string[] {
  const rows = nextSubscriptionsStatement(db).all(
    teamId,
    type,
    afterChannel,
    afterSubscription,
    eventSeq,
    limit,
  );
  return rows.map(({ id }) => id);
}

const progressStatement = change<[string, string, string, number]>(
  "UPDATE fan_outs SET after_channel = ?, after_subscription = ? WHERE team_id = ? AND event_seq = ?",
);

/** Saves the progress of the fan-out. */
export function updateFanOut(
  tx: Transaction,
  { teamId, eventSeq, afterChannel, afterSubscription }: FanOut,
): void {
  progressStatement(tx, afterChannel, afterSubscription, teamId, eventSeq);
}

const deleteStatement = change<[string, number]>("DELETE FROM fan_outs WHERE team_id = ? AND event_seq = ?");

export function deleteFanOut(tx: Transaction, { teamId, eventSeq }: FanOutKey): void {
  deleteStatement(tx, teamId, eventSeq);
}

const pageStatement = query<FanOutKey, [string, number, number]>(
  `SELECT team_id AS "teamId", event_seq AS "eventSeq" FROM fan_outs WHERE (team_id, event_seq) > (?, ?)
   ORDER BY team_id, event_seq LIMIT ?`,
);

/** A key before every fan-out. */
export const beforeFanOuts: FanOutKey = { teamId: "", eventSeq: 0 };

/** The fan-outs after the given key, at most `limit`. */
export function selectFanOutsAfter(db: Connection, after: FanOutKey, limit: number): FanOutKey[] {
  return pageStatement(db).all(after.teamId, after.eventSeq, limit);
}

const stillToQueueStatement = query<Waiting, [string, string]>(
  `SELECT count(*) AS count, coalesce(min(fan_outs.event_seq), 0) AS oldest
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   JOIN subscription_filters AS filters ON filters.team_id = fan_outs.team_id AND filters.event_type = events.type
     AND filters.channel_id IN ('', fan_outs.channel_id) AND filters.after_event < fan_outs.event_seq
   WHERE fan_outs.team_id = cast(? AS text) AND filters.subscription_id = cast(? AS text)
     AND (filters.channel_id, filters.subscription_id) > (fan_outs.after_channel, fan_outs.after_subscription)
     AND filters.is_only_read = 0`,
);

/** The events still to be queued for the team's subscription. Reads all fan-outs of the team. */
export function selectStillToQueue(db: Connection, teamId: string, subscriptionId: string): Waiting {
  return stillToQueueStatement(db).get(teamId, subscriptionId) ?? { count: 0, oldest: 0 };
}
