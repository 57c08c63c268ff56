import type { Reading, Writing } from "../database/database.ts";
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

const insert = change<[string, number, string]>(
  "INSERT INTO fan_outs (team_id, event_seq, channel_id) VALUES (?, ?, ?)",
);

export function insertFanOut(
  tx: Writing,
  { teamId, eventSeq, channelId }: Pick<FanOut, "teamId" | "eventSeq" | "channelId">,
): void {
  insert(tx, teamId, eventSeq, channelId);
}

// Every id comes after the empty text: so the first row is looked up, and the table not gone through.
const anyLeft = query<object, []>("SELECT 1 FROM fan_outs WHERE team_id > '' LIMIT 1");

/** Whether there is any, of whichever team. */
export function selectIsAnyLeft(db: Reading): boolean {
  return anyLeft(db).get() !== null;
}

const left = query<object, [string]>("SELECT 1 FROM fan_outs WHERE team_id = ? LIMIT 1");

/** Whether the team has any. */
export function selectIsLeft(db: Reading, teamId: string): boolean {
  return left(db).get(teamId) !== null;
}

const earliest = (condition: string) =>
  `SELECT fan_outs.team_id AS teamId, fan_outs.event_seq AS eventSeq, events.type, events.created_at AS happenedAt,
     fan_outs.channel_id AS channelId, fan_outs.after_channel AS afterChannel,
     fan_outs.after_subscription AS afterSubscription
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   WHERE ${condition} ORDER BY fan_outs.team_id, fan_outs.event_seq LIMIT 1`;

const ofTeam = query<FanOut, [string]>(earliest("fan_outs.team_id = cast(? AS text)"));

/** The earliest of the team. */
export function selectFanOut(db: Reading, teamId: string): FanOut | undefined {
  return ofTeam(db).get(teamId) ?? undefined;
}

const next = query<FanOut, [string]>(earliest("fan_outs.team_id > cast(? AS text)"));

/** The earliest of the team that comes next after the given one, and after the last of them of the first again. */
export function selectNextFanOut(db: Reading, afterTeam: string): FanOut | undefined {
  return next(db).get(afterTeam) ?? next(db).get("") ?? undefined;
}

const filtering = query<{ id: string }, [string, string, string, string, number, number]>(
  `SELECT subscription_id AS id FROM subscription_filters
   WHERE team_id = ? AND event_type = ? AND channel_id = ? AND subscription_id > ? AND after_event < ?
   ORDER BY subscription_id LIMIT ?`,
);

/** The subscriptions that come next, at most `limit`: of those that were there when the event happened, and still are. */
export function selectFiltering(
  db: Reading,
  { teamId, type, afterChannel, afterSubscription, eventSeq }: FanOut,
  limit: number,
): string[] {
  const rows = filtering(db).all(teamId, type, afterChannel, afterSubscription, eventSeq, limit);
  return rows.map(({ id }) => id);
}

const move = change<[string, string, string, number]>(
  "UPDATE fan_outs SET after_channel = ?, after_subscription = ? WHERE team_id = ? AND event_seq = ?",
);

/** Keeps how far it has come. */
export function updateFanOut(
  tx: Writing,
  { teamId, eventSeq, afterChannel, afterSubscription }: FanOut,
): void {
  move(tx, afterChannel, afterSubscription, teamId, eventSeq);
}

const finish = change<[string, number]>("DELETE FROM fan_outs WHERE team_id = ? AND event_seq = ?");

export function deleteFanOut(tx: Writing, { teamId, eventSeq }: FanOutKey): void {
  finish(tx, teamId, eventSeq);
}

const page = query<FanOutKey, [string, number, number]>(
  `SELECT team_id AS teamId, event_seq AS eventSeq FROM fan_outs WHERE (team_id, event_seq) > (?, ?)
   ORDER BY team_id, event_seq LIMIT ?`,
);

/** Where the first of them all comes after. */
export const beforeFanOuts: FanOutKey = { teamId: "", eventSeq: 0 };

/** Those after the given place, at most `limit`. */
export function selectFanOutsAfter(db: Reading, after: FanOutKey, limit: number): FanOutKey[] {
  return page(db).all(after.teamId, after.eventSeq, limit);
}

const stillToQueue = query<Waiting, [string, string]>(
  `SELECT count(*) AS count, coalesce(min(fan_outs.event_seq), 0) AS oldest
   FROM fan_outs JOIN events ON events.seq = fan_outs.event_seq
   JOIN subscription_filters AS filters ON filters.team_id = fan_outs.team_id AND filters.event_type = events.type
     AND filters.channel_id IN ('', fan_outs.channel_id) AND filters.after_event < fan_outs.event_seq
   WHERE fan_outs.team_id = cast(? AS text) AND filters.subscription_id = cast(? AS text)
     AND (filters.channel_id, filters.subscription_id) > (fan_outs.after_channel, fan_outs.after_subscription)`,
);

/** What is still to be queued for the subscription of the team. Goes through all of the team's. */
export function selectStillToQueue(db: Reading, teamId: string, subscriptionId: string): Waiting {
  return stillToQueue(db).get(teamId, subscriptionId) ?? { count: 0, oldest: 0 };
}
