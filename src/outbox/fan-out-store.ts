import type { Connection, Transaction } from "../database/database.ts";
import { change, query } from "../database/prepared.ts";
import type { Waiting } from "./job-store.ts";

/** An event that is not queued for all of its subscriptions yet. */
export type FanOut = {
  teamId: string;
  eventSeq: number;
  type: string;
  /** In milliseconds since 1970. */
  happenedAt: number;
  channelId: string;
  /** Which filters are gone through at present: those for every channel (the empty text), then those for this one. */
  afterChannel: string;
  /** The last subscription among them that was come to, empty at their beginning. */
  afterSubscription: string;
};

/** What a fan-out is known by. */
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

// Every id comes after the empty text: so the first row is looked up, and the table not gone through.
const anyLeftStatement = query<object, []>("SELECT 1 FROM fan_outs WHERE team_id > '' LIMIT 1");

/** Whether there is any, of whichever team. */
export function selectIsAnyLeft(db: Connection): boolean {
  return anyLeftStatement(db).get() !== null;
}

const leftStatement = query<object, [string]>("SELECT 1 FROM fan_outs WHERE team_id = ? LIMIT 1");

/** Whether the team has any. */
export function selectIsLeft(db: Connection, teamId: string): boolean {
  return leftStatement(db).get(teamId) !== null;
}

const earliest = (condition: string) =>
  `SELECT fan_outs.team_id AS teamId, fan_outs.event_seq AS eventSeq, events.type, events.created_at AS happenedAt,
     fan_outs.channel_id AS channelId, fan_outs.after_channel AS afterChannel,
     fan_outs.after_subscription AS afterSubscription
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   WHERE ${condition} ORDER BY fan_outs.team_id, fan_outs.event_seq LIMIT 1`;

const ofTeamStatement = query<FanOut, [string]>(earliest("fan_outs.team_id = cast(? AS text)"));

/** The earliest of the team. */
export function selectFanOut(db: Connection, teamId: string): FanOut | undefined {
  return ofTeamStatement(db).get(teamId) ?? undefined;
}

const nextStatement = query<FanOut, [string]>(earliest("fan_outs.team_id > cast(? AS text)"));

/** The earliest of the team that comes next after the given one, and after the last of them of the first again. */
export function selectNextFanOut(db: Connection, afterTeam: string): FanOut | undefined {
  return nextStatement(db).get(afterTeam) ?? nextStatement(db).get("") ?? undefined;
}

const filteringStatement = query<{ id: string }, [string, string, string, string, number, number]>(
  `SELECT subscription_id AS id FROM subscription_filters
   WHERE team_id = ? AND event_type = ? AND channel_id = ? AND subscription_id > ? AND after_event < ?
   ORDER BY subscription_id LIMIT ?`,
);

/** The subscriptions that come next, at most `limit`: of those that were there when the event happened, and still are. */
export function selectFiltering(
  db: Connection,
  { teamId, type, afterChannel, afterSubscription, eventSeq }: FanOut,
  limit: number,
): string[] {
  const rows = filteringStatement(db).all(teamId, type, afterChannel, afterSubscription, eventSeq, limit);
  return rows.map(({ id }) => id);
}

const moveStatement = change<[string, string, string, number]>(
  "UPDATE fan_outs SET after_channel = ?, after_subscription = ? WHERE team_id = ? AND event_seq = ?",
);

/** Keeps how far it has come. */
export function updateFanOut(
  tx: Transaction,
  { teamId, eventSeq, afterChannel, afterSubscription }: FanOut,
): void {
  moveStatement(tx, afterChannel, afterSubscription, teamId, eventSeq);
}

const finishStatement = change<[string, number]>("DELETE FROM fan_outs WHERE team_id = ? AND event_seq = ?");

export function deleteFanOut(tx: Transaction, { teamId, eventSeq }: FanOutKey): void {
  finishStatement(tx, teamId, eventSeq);
}

const pageStatement = query<FanOutKey, [string, number, number]>(
  `SELECT team_id AS teamId, event_seq AS eventSeq FROM fan_outs WHERE (team_id, event_seq) > (?, ?)
   ORDER BY team_id, event_seq LIMIT ?`,
);

/** Where the first of them all comes after. */
export const beforeFanOuts: FanOutKey = { teamId: "", eventSeq: 0 };

/** Those after the given place, at most `limit`. */
export function selectFanOutsAfter(db: Connection, after: FanOutKey, limit: number): FanOutKey[] {
  return pageStatement(db).all(after.teamId, after.eventSeq, limit);
}

const stillToQueueStatement = query<Waiting, [string, string]>(
  `SELECT count(*) AS count, coalesce(min(fan_outs.event_seq), 0) AS oldest
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   JOIN subscription_filters AS filters ON filters.team_id = fan_outs.team_id AND filters.event_type = events.type
     AND filters.channel_id IN ('', fan_outs.channel_id) AND filters.after_event < fan_outs.event_seq
   WHERE fan_outs.team_id = cast(? AS text) AND filters.subscription_id = cast(? AS text)
     AND (filters.channel_id, filters.subscription_id) > (fan_outs.after_channel, fan_outs.after_subscription)`,
);

/** What is still to be queued for the subscription of the team. Goes through all of the team's. */
export function selectStillToQueue(db: Connection, teamId: string, subscriptionId: string): Waiting {
  return stillToQueueStatement(db).get(teamId, subscriptionId) ?? { count: 0, oldest: 0 };
}
